#include "kernels/cpu/conv_spec.h"

#include "kernels/portable/conv_arguments.h"

namespace berth::cpu {
namespace {

using portable::Convolution;

bool is_f32(const Tensor& tensor) { return tensor.dtype() == DType::kF32 && tensor.device().is_cpu(); }

// What is multiplied with a weight of bf16, and the result, may be bf16 too.
bool is_taken(const Tensor& tensor, const Weight& weight) {
  const bool narrow = tensor.dtype() == DType::kBF16 && weight.tensor->dtype() == DType::kBF16;
  return is_f32(tensor) || (narrow && tensor.device().is_cpu());
}
int64_t is_narrow(const Tensor& tensor) { return tensor.dtype() == DType::kBF16 ? 1 : 0; }

bool is_weight_type(DType type) { return type == DType::kF32 || has_16_bits(type); }

bool is_static(const Tensor* tensor) { return tensor == nullptr || tensor->dynamism() == ShapeDynamism::kStatic; }
template <typename Args>
bool all_static(const Args& args) {
  return is_static(&args.input) && is_static(&args.out) && is_static(args.residual);
}

template <typename Args>
Fit read_finish(const Args& args, int64_t channels, Finish* finish) {
  KernelContext context({}, nullptr);
  portable::Activation function;
  if (portable::read_activation(context, args, &function) != Error::kOk) return Fit::kWrong;
  finish->activation = static_cast<int64_t>(function.kind);
  finish->alpha = static_cast<double>(function.alpha);
  finish->beta = static_cast<double>(function.beta);
  if (args.bias != nullptr) {
    if (args.bias->rank() != 1 || args.bias->size(0) != channels) return Fit::kWrong;
    if (!is_f32(*args.bias)) return Fit::kShape;
    finish->bias = 1;
  }
  if (args.residual != nullptr) {
    if (args.residual->sizes() != args.out.sizes()) return Fit::kWrong;
    // The engines go through both in memory's order.
    if (!is_f32(*args.residual) || args.residual->strides() != args.out.strides()) return Fit::kShape;
    finish->residual = 1;
  }
  return Fit::kTaken;
}

// Strides of batch, channel and two axes; along an axis of one pixel it does not matter, and is 0.
void copy_strides(const Tensor& tensor, int64_t (&strides)[4]) {
  const int rank = tensor.rank();
  for (int i = 0; i < rank; ++i) {
    const int to = i < 2 ? i : i + 4 - rank;
    strides[to] = tensor.size(i) > 1 ? tensor.stride(i) : 0;
  }
}

// The convolution with the weight as it is without its packing; the checks are those of aten::convolution.
class DenseConvolution {
 public:
  DenseConvolution(const arguments::fused_conv_out& args, const Weight& weight)
      : args_(args),
        given_type_(weight.tensor->dtype()),
        weight_(type_of(weight), weight.dense.rank, sizes_of(weight), kOrder, strides_, nullptr) {}

  Error read(KernelContext& context, Convolution* c) const {
    c->input = &args_.input;
    c->weight = &weight_;
    c->bias = args_.bias;
    c->out = &args_.out;
    c->checked_types = has_narrow_tensors();
    c->transposed = args_.transposed;
    c->groups = args_.groups;
    const portable::ConvolutionLists lists = {args_.stride, args_.padding, args_.dilation, args_.output_padding};
    return portable::read_convolution_lists(context, lists, c);
  }

 private:
  static constexpr uint8_t kOrder[DenseSizes::kMaxRank] = {0, 1, 2, 3, 4};

  static DType type_of(const Weight& weight) {
    const DType type = weight.tensor->dtype();
    return is_weight_type(type) ? DType::kF32 : type;
  }
  // Which would fit a weight of bf16 that is not made wide here.
  bool has_narrow_tensors() const {
    return given_type_ == DType::kBF16 && (is_narrow(args_.input) != 0 || is_narrow(args_.out) != 0);
  }
  int32_t* sizes_of(const Weight& weight) {
    for (int i = 0; i < weight.dense.rank; ++i) sizes_[i] = weight.dense.size[i];
    return sizes_;
  }

  const arguments::fused_conv_out& args_;
  DType given_type_;
  int32_t sizes_[DenseSizes::kMaxRank];
  int64_t strides_[DenseSizes::kMaxRank];
  Tensor weight_;
};

}  // namespace

double ConvSpec::flops() const {
  const int64_t(&seen)[2] = transposed != 0 ? in : out;
  const double pixels = static_cast<double>(batch) * static_cast<double>(seen[0]) * static_cast<double>(seen[1]);
  return 2.0 * pixels * static_cast<double>(out_channels) * static_cast<double>(in_channels / groups) *
         static_cast<double>(kernel[0] * kernel[1]);
}

bool ConvSpec::channels_last() const {
  const auto last = [](const int64_t(&stride)[4], int64_t channels, int64_t width, int64_t height) {
    const int64_t expected[4] = {channels * width * height, 1, channels * width, channels};
    for (int i = 0; i < 4; ++i) {
      if (stride[i] != 0 && stride[i] != expected[i]) return false;
    }
    return true;
  };
  return last(in_stride, in_channels, in[1], in[0]) && last(out_stride, out_channels, out[1], out[0]);
}

bool read_weight(const Tensor& weight, StringRef packing, int rank, Weight* result) {
  result->tensor = &weight;
  result->packed = packing.size > 0;
  if (!result->packed) {
    if (result->tensor->rank() > DenseSizes::kMaxRank) return false;
    result->dense.rank = result->tensor->rank();
    for (int i = 0; i < result->dense.rank; ++i) result->dense.size[i] = result->tensor->sizes()[i];
    return true;
  }
  return read_packing(packing, &result->dense, &result->layout) && (rank == 0 || result->dense.rank == rank) &&
         is_weight_type(result->tensor->dtype()) && result->layout.all_numel() <= result->tensor->numel();
}

Fit read_conv(const arguments::fused_conv_out& args, const Weight& weight, ConvSpec* spec) {
  KernelContext context({}, nullptr);
  const DenseConvolution dense(args, weight);
  Convolution c;
  if (dense.read(context, &c) != Error::kOk) return Fit::kWrong;
  const Tensor& out = *c.out;
  if (out.rank() != c.input->rank() || out.sizes() != portable::convolution_sizes(c).span()) return Fit::kShape;
  if (c.spatial > 2 || !is_taken(*c.input, weight) || !is_taken(out, weight)) return Fit::kShape;
  if (c.input->numel() == 0 || out.numel() == 0) return Fit::kShape;
  if (!weight.packed && !weight.tensor->is_contiguous()) return Fit::kShape;
  spec->weight_type = static_cast<int64_t>(weight.tensor->dtype());
  spec->narrow_input = is_narrow(*c.input);
  spec->narrow_out = is_narrow(out);
  spec->transposed = c.transposed ? 1 : 0;
  spec->open = all_static(args) ? 0 : 1;
  spec->batch = c.batch;
  spec->groups = c.groups;
  spec->in_channels = c.in_channels * c.groups;
  spec->out_channels = c.out_channels * c.groups;
  for (int i = 0; i < 2; ++i) {
    const Convolution::Axis& axis = c.axis[1 + i];
    spec->in[i] = axis.in;
    spec->out[i] = axis.out;
    spec->kernel[i] = axis.kernel;
    spec->stride[i] = axis.stride;
    spec->padding[i] = axis.padding;
    spec->dilation[i] = axis.dilation;
  }
  copy_strides(*c.input, spec->in_stride);
  copy_strides(out, spec->out_stride);
  return read_finish(args, spec->out_channels, &spec->finish);
}

Error resize_conv(KernelContext& context, const arguments::fused_conv_out& args, const Weight& weight) {
  const DenseConvolution dense(args, weight);
  Convolution c;
  BERTH_RETURN_IF_ERROR(dense.read(context, &c));
  return portable::resize_out(context, args.out, portable::convolution_sizes(c).span());
}

Error resize_linear(KernelContext& context, const arguments::fused_linear_out& args, const Weight& weight) {
  if (args.input.rank() < 1 || weight.dense.rank != 2) {
    return context.fail(Error::kInvalidArgument, "a product takes matrices");
  }
  portable::Sizes sizes = portable::sizes_of(args.input);
  sizes.data[sizes.rank - 1] = weight.dense.size[1];
  return portable::resize_out(context, args.out, sizes.span());
}

Fit read_linear(const arguments::fused_linear_out& args, const Weight& weight, LinearSpec* spec) {
  const Tensor& input = args.input;
  const Tensor& out = args.out;
  if (weight.dense.rank != 2 || input.rank() < 1 || out.rank() != input.rank()) return Fit::kWrong;
  spec->depth = weight.dense.size[0];
  spec->columns = weight.dense.size[1];
  if (input.size(input.rank() - 1) != spec->depth || out.size(out.rank() - 1) != spec->columns) return Fit::kWrong;
  for (int i = 0; i + 1 < input.rank(); ++i) {
    if (input.size(i) != out.size(i)) return Fit::kShape;
  }
  if (!is_taken(input, weight) || !is_taken(out, weight) || !input.is_contiguous() || !out.is_contiguous())
    return Fit::kShape;
  if (input.numel() == 0 || out.numel() == 0) return Fit::kShape;
  if (!is_weight_type(weight.tensor->dtype())) return Fit::kShape;
  if (!weight.packed && !weight.tensor->is_contiguous()) return Fit::kShape;
  spec->weight_type = static_cast<int64_t>(weight.tensor->dtype());
  spec->narrow_input = is_narrow(input);
  spec->narrow_out = is_narrow(out);
  spec->rows = out.numel() / spec->columns;
  spec->open = all_static(args) ? 0 : 1;
  return read_finish(args, spec->columns, &spec->finish);
}

}  // namespace berth::cpu
