#include "kernels/cpu/quantized.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "format/arguments.h"
#include "kernels/cpu/quantized_batch.h"
#include "kernels/cpu/quantized_run.h"
#include "kernels/cpu/quantized_winograd.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

constexpr const char* kBadQuantizedPacking =
    "the text of its weight's packing is none, or does not fit the weight; was the file changed?";

constexpr const char* kLargerWeight = "its weight is larger than it was when the method was loaded";

constexpr size_t kQuantizedWeight = arg::quantized_linear_out::weight;
static_assert(kQuantizedWeight == size_t{arg::quantized_conv_out::weight});

struct QuantizedState {
  QuantizedState() = default;
  ~QuantizedState() { std::free(owned); }
  QuantizedState(const QuantizedState&) = delete;
  QuantizedState& operator=(const QuantizedState&) = delete;

  bool allocate(int64_t bytes) {
    owned = static_cast<uint8_t*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    return owned != nullptr;
  }

  QuantizedLayout layout;
  // Asking what the processor has takes microseconds in a virtual machine.
  const QuantizedFunctions* functions = &quantized_functions();
  const uint8_t* packed = nullptr;
  uint8_t* owned = nullptr;  // the packed weight, when it is not used where the file has it
  bool constant = true;      // else it is packed in each call
  bool few_bits = false;     // QuantizedJob
  QuantizedQuotients quotients;
};

template <typename Args>
QuantizedQuotients quotients_of(const Args& args) {
  const auto by = [&](double scale) {
    return scale == 1 ? QuantizedQuotient() : quotient_by(static_cast<float>(scale));
  };
  return {by(args.out_scale), by(args.middle_scale)};
}

// What linear and conv do not have in common.
struct QuantizedLinear {
  using Args = arguments::quantized_linear_out;
  static constexpr bool kConv = false;
  static constexpr auto kPortable = portable::quantized_linear_out;
  static int64_t groups(const Args&) { return 1; }
  static bool is_batched(const Args& args) { return args.weight.rank() == 3; }
  // Of a matrix for each of a batch, that of one.
  static bool find_layout(const Args& args, QuantizedLayout* layout) {
    const int rank = args.weight.rank();
    if (rank < 2 || rank > 3 || args.weight.numel() == 0) return false;
    DenseSizes sizes;
    sizes.rank = 2;
    for (int d = 0; d < 2; ++d) sizes.size[d] = args.weight.sizes()[rank - 2 + d];
    *layout = linear_layout(sizes);
    return true;
  }
};

struct QuantizedConv {
  using Args = arguments::quantized_conv_out;
  static constexpr bool kConv = true;
  static constexpr auto kPortable = portable::quantized_conv_out;
  static int64_t groups(const Args& args) { return args.groups; }
  static bool is_batched(const Args&) { return false; }
  static bool find_layout(const Args& args, QuantizedLayout* layout);
};

// A column of a merged group sees numbers that are not its own, which must be 0 without doubt.
template <typename Args>
bool may_merge(const Args& args) {
  return args.weight.dtype() == DType::kI8 && args.weight_zero_point == nullptr;
}

bool QuantizedConv::find_layout(const Args& args, QuantizedLayout* layout) {
  const Tensor& weight = args.weight;
  if (weight.rank() < 3 || weight.rank() > DenseSizes::kMaxRank || weight.numel() == 0) return false;
  if (args.groups < 1 || weight.size(0) % args.groups != 0) return false;
  *layout = conv_layout(dense_sizes_of(weight), args.groups, may_merge(args));
  return true;
}

// The layout of this call's weight, as it is packed or as it will be. False: the portable kernel's.
template <typename Op>
bool layout_of(const typename Op::Args& args, QuantizedLayout* layout) {
  if (!is_byte(args.weight.dtype())) return false;
  if (args.packing.size == 0) return Op::find_layout(args, layout);
  return args.weight.rank() == 1 && read_quantized_packing(args.packing, args.weight.numel(), Op::kConv,
                                                           Op::groups(args), may_merge(args), layout);
}

// A tensor of the dense weight's sizes.
class DenseWeight {
 public:
  DenseWeight(const QuantizedLayout& layout, DType dtype) {
    static constexpr uint8_t kOrder[DenseSizes::kMaxRank] = {0, 1, 2, 3, 4};
    std::memcpy(sizes_, layout.dense.size, sizeof(sizes_));
    tensor_ = Tensor(dtype, layout.dense.rank, sizes_, kOrder, strides_, nullptr);
  }
  DenseWeight(const DenseWeight&) = delete;
  DenseWeight& operator=(const DenseWeight&) = delete;
  const Tensor& tensor() const { return tensor_; }

 private:
  int32_t sizes_[DenseSizes::kMaxRank];
  int64_t strides_[DenseSizes::kMaxRank];
  Tensor tensor_;
};

void pack_weight(const QuantizedLayout& layout, const Tensor& weight, uint8_t* packed) {
  pack_into(layout, weight.data<uint8_t>(), weight.dtype() == DType::kI8, weight.strides().data(), packed);
}

template <typename Op>
Error prepare_quantized(PrepareContext& context, const typename Op::Args& args, void** out) {
  const bool constant = context.is_constant(kQuantizedWeight);
  const bool packed = args.packing.size != 0;
  if (packed && !constant) return context.fail(Error::kInvalidProgram, "a packed weight must be a constant");
  auto state = std::make_unique<QuantizedState>();
  if (!layout_of<Op>(args, &state->layout)) {
    return packed ? context.fail(Error::kInvalidProgram, kBadQuantizedPacking) : Error::kOk;
  }
  state->quotients = quotients_of(args);
  // A batch of matrices is packed one by one, in temporary memory, whatever makes them.
  state->constant = constant && !Op::is_batched(args);
  if (packed) {
    state->packed = args.weight.template data<uint8_t>();
  } else if (!Op::is_batched(args)) {
    if (!state->allocate(state->layout.bytes())) {
      return context.fail(Error::kMemoryAllocationFailed, "there is no memory to pack its weight");
    }
    if (state->constant) pack_weight(state->layout, args.weight, state->owned);
    state->packed = state->owned;
  }
  if (Op::kConv && state->constant && state->functions->winograd != nullptr) {
    state->few_bits = sums_have_26_bits(state->layout, state->packed);
  }
  *out = state.release();
  return Error::kOk;
}

Error read_call(KernelContext& context, const QuantizedLinear::Args& args, const Tensor& weight,
                portable::QuantizedProduct* product, portable::Convolution*) {
  return portable::read_quantized_linear(context, args, weight, product);
}
Error read_call(KernelContext& context, const QuantizedConv::Args& args, const Tensor& weight,
                portable::QuantizedProduct* product, portable::Convolution* convolution) {
  return portable::read_quantized_conv(context, args, weight, product, convolution);
}

template <typename Op>
Error call_quantized(KernelContext& context, const typename Op::Args& args) {
  auto* state = static_cast<QuantizedState*>(context.state());
  if (state == nullptr) return Op::kPortable(context, args);
  // A weight that is computed may have other sizes in each call.
  QuantizedLayout layout = state->layout;
  if (!state->constant && !layout_of<Op>(args, &layout)) return Op::kPortable(context, args);
  if constexpr (!Op::kConv) {
    if (Op::is_batched(args)) {
      if (layout.bytes() > state->layout.bytes()) return context.fail(Error::kInvalidArgument, kLargerWeight);
      return run_quantized_batch(context, args, layout, *state->functions, state->quotients);
    }
  }
  const DenseWeight dense(layout, args.weight.dtype());
  portable::QuantizedProduct product;
  portable::Convolution convolution;
  BERTH_RETURN_IF_ERROR(read_call(context, args, dense.tensor(), &product, &convolution));
  if (args.out.numel() == 0) return Error::kOk;
  if (!state->constant) {
    BERTH_RETURN_IF_ERROR(portable::check_memory(context, args.weight));
    if (layout.bytes() > state->layout.bytes()) return context.fail(Error::kInvalidArgument, kLargerWeight);
    pack_weight(layout, args.weight, state->owned);
  }
  QuantizedJob job;
  job.layout = &layout;
  job.functions = state->functions;
  job.packed = state->packed;
  job.product = &product;
  job.input = &args.input;
  job.quotients = state->quotients;
  job.few_bits = state->few_bits;
  if (Op::kConv) {
    portable::read_convolution_strides(&convolution);
    job.convolution = &convolution;
  }
  return run_quantized(context, job);
}

}  // namespace

Error quantized_linear_out(KernelContext& context, const arguments::quantized_linear_out& args) {
  return call_quantized<QuantizedLinear>(context, args);
}

size_t quantized_linear_temp_bytes(const arguments::quantized_linear_out& args, int threads) {
  QuantizedLayout layout;
  if (!layout_of<QuantizedLinear>(args, &layout)) return 0;
  if (QuantizedLinear::is_batched(args)) return quantized_batch_temp_bytes(layout, args, threads);
  const int64_t rows = layout.depth == 0 ? 0 : args.input.numel() / layout.depth;
  if (args.packing.size == 0) return most_quantized_temp_bytes(layout, rows, threads);
  QuantizedJob job;
  job.layout = &layout;
  job.input = &args.input;
  return quantized_temp_bytes(job, threads);
}

Error quantized_linear_prepare(PrepareContext& context, const arguments::quantized_linear_out& args, void** state) {
  return prepare_quantized<QuantizedLinear>(context, args, state);
}

Error quantized_conv_out(KernelContext& context, const arguments::quantized_conv_out& args) {
  return call_quantized<QuantizedConv>(context, args);
}

size_t quantized_conv_temp_bytes(const arguments::quantized_conv_out& args, int threads) {
  QuantizedLayout layout;
  if (!layout_of<QuantizedConv>(args, &layout)) return 0;
  const DenseWeight dense(layout, args.weight.dtype());
  portable::Convolution convolution;
  convolution.input = &args.input;
  convolution.weight = &dense.tensor();
  convolution.out = &args.out;
  convolution.groups = args.groups;
  convolution.checked_types = true;
  KernelContext context({}, nullptr);
  if (portable::read_convolution_lists(context, {args.stride, args.padding, args.dilation, args.padding},
                                       &convolution) != Error::kOk) {
    return 0;
  }
  QuantizedJob job;
  job.layout = &layout;
  job.convolution = &convolution;
  job.input = &args.input;
  return quantized_temp_bytes(job, threads);
}

Error quantized_conv_prepare(PrepareContext& context, const arguments::quantized_conv_out& args, void** state) {
  return prepare_quantized<QuantizedConv>(context, args, state);
}

void quantized_release(void* state) { delete static_cast<QuantizedState*>(state); }

bool quantized_uses_weight_in_place(const void* state) {
  return static_cast<const QuantizedState*>(state)->owned == nullptr;
}

}  // namespace berth::cpu
