// berth::inverted_residual: up to three convolutions of images, of which the middle one sees windows of single
// channels:
//
//   expanded = activation(pixels of input times expand_weight + bias), or the input
//   seen     = activation(windows of expanded, a channel at a time, + bias)
//   out      = activation(pixels of seen times project_weight + bias + residual), or what was seen
//
// Neither `expanded` nor `seen` is ever whole: an item of work is a row of the result, and has a row of the one and the
// channels of a row of the other. As in all products, what a weight of bf16 is multiplied with is rounded to bf16.
#include "kernels/portable/fused_inverted_residual.h"

#include <algorithm>

#include "base/half.h"
#include "base/math.h"
#include "kernels/portable/conv_arguments.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/fused_narrow.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

using Args = arguments::inverted_residual_out;

constexpr const char* kSizes = "sizes of the image, the weights and the biases do not go together";
// What is expanded is nowhere whole, so that no tensor's memory bounds its size.
constexpr const char* kLarge = "what it expands an image to has more than 2^40 elements";
constexpr double kMostElements = static_cast<double>(int64_t{1} << 40);
constexpr double kSerialWork = 1 << 16;
constexpr uint8_t kOrder[4] = {0, 1, 2, 3};

bool is_f32(const Tensor* tensor) { return tensor == nullptr || tensor->dtype() == DType::kF32; }

bool has_size(const Tensor* bias, int64_t channels) {
  return bias == nullptr || (bias->rank() == 1 && bias->size(0) == channels);
}

// A weight of pixels, [to, from, 1, 1].
bool is_pointwise(Span<const int32_t> weight, int64_t to, int64_t from) {
  return weight.size() == 4 && weight[0] == to && weight[1] == from && weight[2] == 1 && weight[3] == 1;
}

// A tensor that has sizes and no memory.
struct Sized {
  explicit Sized(Span<const int32_t> from) {
    std::copy_n(from.data(), 4, sizes);
    tensor = Tensor(DType::kF32, 4, sizes, kOrder, strides, nullptr);
  }

  int32_t sizes[4];
  int64_t strides[4];
  Tensor tensor;
};

// The windows' sizes, with all the checks of a convolution.
Error read_windows(KernelContext& context, const Args& args, Span<const int32_t> weight, InvertedResidual* result) {
  const Span<const int32_t> image = args.input.sizes();
  const int32_t middle[4] = {image[0], weight[0], image[2], image[3]};
  const Sized input(Span<const int32_t>(middle, 4)), dense(weight);
  Convolution c;
  c.input = &input.tensor;
  c.weight = &dense.tensor;
  c.bias = args.bias;
  c.out = &args.out;
  c.groups = weight[0];
  BERTH_RETURN_IF_ERROR(read_convolution_lists(context, {args.stride, args.padding, args.dilation, args.padding}, &c));
  for (int i = 0; i < 2; ++i) {
    const Convolution::Axis& axis = c.axis[1 + i];
    result->axis[i] = {axis.in, axis.out, axis.kernel, axis.stride, axis.padding, axis.dilation};
  }
  return Error::kOk;
}

// Dense weights of f32; narrow ones are widened.
struct Weights {
  const float* expand = nullptr;
  const float* depthwise = nullptr;
  const float* project = nullptr;
  bool rounds_input = false, rounds_seen = false;
};

Error widen(KernelContext& context, const Tensor* weight, const float** wide) {
  if (weight == nullptr) return Error::kOk;
  const bool narrow = is_narrow_weight(*weight);
  if ((!narrow && weight->dtype() != DType::kF32) || !weight->is_contiguous()) {
    return context.fail(Error::kInvalidArgument, "its weights are row-major, of f32, bf16 or f16");
  }
  *wide = narrow ? nullptr : weight->data<float>();
  if (!narrow) return Error::kOk;
  auto* const to = static_cast<float*>(context.allocate_temp(weight->numel() * sizeof(float)));
  if (to == nullptr) return Error::kMemoryAllocationFailed;
  convert_elements(weight->dtype(), weight->raw(), DType::kF32, to, weight->numel());
  *wide = to;
  return Error::kOk;
}

size_t widened_bytes(const Tensor* weight) {
  return weight == nullptr || !is_narrow_weight(*weight) ? 0 : weight->numel() * sizeof(float) + kTempPadding;
}

bool rounds(const Tensor* weight) { return weight != nullptr && weight->dtype() == DType::kBF16; }

float rounded(float x, bool to_bf16) { return to_bf16 ? static_cast<float>(BFloat16(x)) : x; }

// Of a slot: a row of one channel, and one of all channels of what was seen.
int64_t scratch_floats(const InvertedResidual& r) {
  return align_up<int64_t>(std::max(r.axis[1].in, r.axis[1].out) + r.channels * r.axis[1].out, 16);
}

int count_slots(const InvertedResidual& r, int threads) {
  const double pixels = static_cast<double>(r.batch * r.axis[0].out) * static_cast<double>(r.axis[1].out);
  const int64_t taps = r.axis[0].kernel * r.axis[1].kernel;
  return slots_for(threads, r.batch * r.axis[0].out, pixels * static_cast<double>(r.channels * taps), kSerialWork);
}

class Rows {
 public:
  Rows(const Args& args, const InvertedResidual& r, const Weights& weights) : args_(args), r_(r), weights_(weights) {}

  // Row `item`, counted over all images, with this scratch memory.
  void run(int64_t item, float* scratch) const {
    const int64_t n = item / r_.axis[0].out, y = item % r_.axis[0].out;
    const int64_t width = r_.axis[1].out;
    float* const row = scratch;
    float* const seen = scratch + std::max(r_.axis[1].in, width);
    for (int64_t c = 0; c < r_.channels; ++c) {
      see(n, c, y, row, seen + c * width);
      activate(r_.depthwise, seen + c * width, width);
    }
    for (int64_t c = 0; c < r_.out_channels; ++c) {
      if (r_.projects) project(n, c, y, seen, row);
      store(n, c, y, r_.projects ? row : seen + c * width);
    }
  }

 private:
  static float start(const Tensor* bias, int64_t channel) { return bias == nullptr ? 0 : bias->data<float>()[channel]; }

  // The row that the windows of channel `c` see.
  void expand(int64_t n, int64_t c, int64_t y, float* row) const {
    const Tensor& input = args_.input;
    const int64_t width = r_.axis[1].in;
    const float* from = input.data<float>() + n * input.stride(0) + y * input.stride(2);
    if (!r_.expands) {
      for (int64_t x = 0; x < width; ++x) row[x] = from[c * input.stride(1) + x * input.stride(3)];
      return;
    }
    std::fill_n(row, width, start(args_.expand_bias, c));
    for (int64_t k = 0; k < r_.in_channels; ++k) {
      const float weight = weights_.expand[c * r_.in_channels + k];
      for (int64_t x = 0; x < width; ++x)
        row[x] += weight * rounded(from[k * input.stride(1) + x * input.stride(3)], weights_.rounds_input);
    }
    activate(r_.expand, row, width);
  }

  void see(int64_t n, int64_t c, int64_t y, float* row, float* sums) const {
    const InvertedResidual::Axis& height = r_.axis[0];
    const InvertedResidual::Axis& width = r_.axis[1];
    std::fill_n(sums, width.out, start(args_.bias, c));
    const float* weight = weights_.depthwise + c * height.kernel * width.kernel;
    for (int64_t ky = 0; ky < height.kernel; ++ky) {
      const int64_t in_y = y * height.stride - height.padding + ky * height.dilation;
      if (in_y < 0 || in_y >= height.in) continue;
      expand(n, c, in_y, row);
      for (int64_t kx = 0; kx < width.kernel; ++kx) {
        for (int64_t x = 0; x < width.out; ++x) {
          const int64_t in_x = x * width.stride - width.padding + kx * width.dilation;
          if (in_x >= 0 && in_x < width.in) sums[x] += weight[ky * width.kernel + kx] * row[in_x];
        }
      }
    }
  }

  void project(int64_t n, int64_t c, int64_t y, const float* seen, float* row) const {
    const int64_t width = r_.axis[1].out;
    std::fill_n(row, width, start(args_.project_bias, c));
    for (int64_t k = 0; k < r_.channels; ++k) {
      const float weight = weights_.project[c * r_.channels + k];
      for (int64_t x = 0; x < width; ++x) row[x] += weight * rounded(seen[k * width + x], weights_.rounds_seen);
    }
    if (const Tensor* residual = args_.residual) {
      const float* from =
          residual->data<float>() + n * residual->stride(0) + c * residual->stride(1) + y * residual->stride(2);
      for (int64_t x = 0; x < width; ++x) row[x] += from[x * residual->stride(3)];
    }
    activate(r_.project, row, width);
  }

  void store(int64_t n, int64_t c, int64_t y, const float* row) const {
    Tensor& out = args_.out;
    float* to = out.data<float>() + n * out.stride(0) + c * out.stride(1) + y * out.stride(2);
    for (int64_t x = 0; x < r_.axis[1].out; ++x) to[x * out.stride(3)] = row[x];
  }

  const Args& args_;
  const InvertedResidual& r_;
  const Weights& weights_;
};

Span<const int32_t> sizes_of_weight(const Tensor* weight) {
  return weight == nullptr ? Span<const int32_t>() : weight->sizes();
}

InvertedResidualWeights dense_sizes(const Args& args) {
  return {sizes_of_weight(args.expand_weight), args.weight.sizes(), sizes_of_weight(args.project_weight)};
}

}  // namespace

void InvertedResidual::rows_seen(int64_t first, int64_t count, int64_t* begin, int64_t* end) const {
  const Axis& rows = axis[0];
  const int64_t top = first * rows.stride - rows.padding;
  const int64_t bottom = top + (count - 1) * rows.stride + (rows.kernel - 1) * rows.dilation + 1;
  *begin = std::clamp<int64_t>(top, 0, rows.in);
  *end = std::clamp<int64_t>(bottom, *begin, rows.in);
}

Error read_inverted_residual(KernelContext& context, const Args& args, const InvertedResidualWeights& weights,
                             InvertedResidual* result) {
  const Tensor& input = args.input;
  if (!is_f32(&input) || !is_f32(&args.out) || !is_f32(args.residual) || !is_f32(args.expand_bias) ||
      !is_f32(args.bias) || !is_f32(args.project_bias)) {
    return context.fail(Error::kInvalidArgument, "fused operators take f32");
  }
  InvertedResidual& r = *result;
  r.expands = args.expand_weight != nullptr;
  r.projects = args.project_weight != nullptr;
  if (input.rank() != 4 || weights.depthwise.size() != 4) return context.fail(Error::kInvalidArgument, kSizes);
  r.batch = input.size(0);
  r.in_channels = input.size(1);
  r.channels = weights.depthwise[0];
  r.out_channels = r.projects && weights.project.size() == 4 ? weights.project[0] : r.channels;
  const bool fits = weights.depthwise[1] == 1 &&
                    (r.expands ? is_pointwise(weights.expand, r.channels, r.in_channels)
                               : r.channels == r.in_channels && args.expand_bias == nullptr) &&
                    (r.projects ? is_pointwise(weights.project, r.out_channels, r.channels)
                                : args.project_bias == nullptr && args.residual == nullptr) &&
                    has_size(args.expand_bias, r.channels) && has_size(args.bias, r.channels) &&
                    has_size(args.project_bias, r.out_channels);
  if (!fits) return context.fail(Error::kInvalidArgument, kSizes);
  BERTH_RETURN_IF_ERROR(
      read_activation(context, args.expand_activation, args.expand_alpha, args.expand_beta, &r.expand));
  BERTH_RETURN_IF_ERROR(read_activation(context, args, &r.depthwise));
  BERTH_RETURN_IF_ERROR(
      read_activation(context, args.project_activation, args.project_alpha, args.project_beta, &r.project));
  BERTH_RETURN_IF_ERROR(read_windows(context, args, weights.depthwise, &r));
  const double most_pixels = std::max(static_cast<double>(r.axis[0].in) * static_cast<double>(r.axis[1].in),
                                      static_cast<double>(r.axis[0].out) * static_cast<double>(r.axis[1].out));
  if (most_pixels * static_cast<double>(r.channels) > kMostElements)
    return context.fail(Error::kInvalidArgument, kLarge);
  const int32_t sizes[4] = {input.sizes()[0], static_cast<int32_t>(r.out_channels), static_cast<int32_t>(r.axis[0].out),
                            static_cast<int32_t>(r.axis[1].out)};
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out, Span<const int32_t>(sizes, 4)));
  if (args.residual == nullptr || same_sizes(*args.residual, args.out)) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "the residual must be as large as out");
}

Error check_inverted_residual_memory(KernelContext& context, const Args& args) {
  BERTH_RETURN_IF_ERROR(check_memory(context, args.input, args.weight));
  BERTH_RETURN_IF_ERROR(check_memory(context, args.out));
  for (const Tensor* tensor :
       {args.expand_weight, args.expand_bias, args.bias, args.project_weight, args.project_bias, args.residual}) {
    if (tensor != nullptr) BERTH_RETURN_IF_ERROR(check_memory(context, *tensor));
  }
  return Error::kOk;
}

Error inverted_residual_out(KernelContext& context, const Args& args) {
  if (args.expand_packing.size + args.packing.size + args.project_packing.size != 0) {
    return context.fail(Error::kNotSupported, "this operator's weights are packed; portable kernels take dense ones");
  }
  InvertedResidual r;
  BERTH_RETURN_IF_ERROR(read_inverted_residual(context, args, dense_sizes(args), &r));
  BERTH_RETURN_IF_ERROR(check_inverted_residual_memory(context, args));
  Weights weights;
  BERTH_RETURN_IF_ERROR(widen(context, args.expand_weight, &weights.expand));
  BERTH_RETURN_IF_ERROR(widen(context, &args.weight, &weights.depthwise));
  BERTH_RETURN_IF_ERROR(widen(context, args.project_weight, &weights.project));
  weights.rounds_input = rounds(args.expand_weight);
  weights.rounds_seen = rounds(args.project_weight);
  const int slots = count_slots(r, context.threads());
  const int64_t floats = scratch_floats(r);
  auto* const scratch = static_cast<float*>(context.allocate_temp(slots * floats * sizeof(float)));
  if (scratch == nullptr) return Error::kMemoryAllocationFailed;
  const Rows rows(args, r, weights);
  for_each_item(
      context, slots, r.batch * r.axis[0].out, [&](float* own, int64_t item) { rows.run(item, own); },
      [&](int64_t slot) { return scratch + slot * floats; });
  return Error::kOk;
}

size_t inverted_residual_temp_bytes(const Args& args, int threads) {
  KernelContext context({}, nullptr);
  InvertedResidual r;
  if (read_inverted_residual(context, args, dense_sizes(args), &r) != Error::kOk) return 0;
  return widened_bytes(args.expand_weight) + widened_bytes(&args.weight) + widened_bytes(args.project_weight) +
         count_slots(r, threads) * scratch_floats(r) * sizeof(float) + kTempPadding;
}

}  // namespace berth::portable
