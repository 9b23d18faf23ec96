// berth::conv: activation(convolution(input, weight) + bias + residual). The weight is dense.
#include "kernels/portable/fused_conv.h"

#include <algorithm>
#include <cstring>

#include "kernels/portable/fused_narrow.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

constexpr const char* kPacked = "this convolution's weight is packed; portable kernels take dense ones";
constexpr const char* kType = "fused operators take f32";

void add(KernelContext& context, const float* x, float* y, int64_t n) {
  context.parallel_for(n, 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] += x[i];
  });
}

// Another order in memory: element by element.
void add_strided(const Tensor& x, Tensor& y) {
  for (int64_t i = 0; i < y.numel(); ++i)
    y.data<float>()[element_offset(y, i)] += x.data<float>()[element_offset(x, i)];
}

}  // namespace

Error read_fused_conv(KernelContext& context, const arguments::fused_conv_out& args, Convolution* convolution,
                      Activation* activation) {
  if (args.packing.size != 0) {
    return context.fail(Error::kNotSupported, kPacked);
  }
  BERTH_RETURN_IF_ERROR(read_activation(context, args, activation));
  const Tensor* residual = args.residual;
  if (args.out.dtype() != DType::kF32 || (residual != nullptr && residual->dtype() != DType::kF32)) {
    return context.fail(Error::kInvalidArgument, kType);
  }
  if (is_narrow_weight(args.weight)) {
    const bool wide = args.input.dtype() == DType::kF32 && (args.bias == nullptr || args.bias->dtype() == DType::kF32);
    if (!wide) return context.fail(Error::kInvalidArgument, kType);
    convolution->checked_types = true;
  }
  BERTH_RETURN_IF_ERROR(read_convolution(context, args, args.bias, args.out, convolution));
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out, convolution_sizes(*convolution).span()));
  if (residual == nullptr) return Error::kOk;
  if (!same_sizes(*residual, args.out)) {
    return context.fail(Error::kInvalidArgument, "the residual must be as large as out");
  }
  return check_memory(context, *residual);
}

static Error resize_narrow_result(KernelContext& context, const arguments::fused_conv_out& args) {
  const WideArguments<arguments::fused_conv_out> wide(args);
  Activation activation;
  Convolution convolution;
  BERTH_RETURN_IF_ERROR(read_fused_conv(context, wide.args(), &convolution, &activation));
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out, convolution_sizes(convolution).span()));
  return check_memory(context, args.out);
}

Error fused_conv_out(KernelContext& context, const arguments::fused_conv_out& args) {
  if (is_narrow_weight(args.weight)) {
    if (args.packing.size != 0) return context.fail(Error::kNotSupported, kPacked);
    if (!fits_narrow_weight(args)) return context.fail(Error::kInvalidArgument, kType);
    BERTH_RETURN_IF_ERROR(check_memory(context, args.input, args.weight));
    if (args.out.dtype() == DType::kBF16) BERTH_RETURN_IF_ERROR(resize_narrow_result(context, args));
    WideArguments<arguments::fused_conv_out> wide(args);
    BERTH_RETURN_IF_ERROR(wide.fill(context));
    BERTH_RETURN_IF_ERROR(fused_conv_out(context, wide.args()));
    if (wide.has_narrow_result()) wide.store_result(context);
    return Error::kOk;
  }
  Activation activation;
  Convolution convolution;
  BERTH_RETURN_IF_ERROR(read_fused_conv(context, args, &convolution, &activation));
  Tensor& out = args.out;
  const Tensor* residual = args.residual;
  const float* start = residual == nullptr ? nullptr : residual->data<float>();
  if (residual != nullptr && residual->raw() == out.raw()) {
    // The convolution overwrites it.
    void* kept = context.allocate_temp(residual->nbytes());
    if (kept == nullptr) return Error::kMemoryAllocationFailed;
    std::memcpy(kept, residual->raw(), residual->nbytes());
    start = static_cast<const float*>(kept);
  }
  BERTH_RETURN_IF_ERROR(run_convolution(context, convolution));
  if (residual != nullptr && same_layout(*residual, out)) {
    add(context, start, out.data<float>(), out.numel());
  } else if (residual != nullptr) {
    add_strided(*residual, out);
  }
  context.parallel_for(out.numel(), 4096, [&](int64_t begin, int64_t end) {
    activate(activation, out.data<float>() + begin, end - begin);
  });
  return Error::kOk;
}

size_t fused_conv_temp_bytes(const arguments::fused_conv_out& args, int threads) {
  if (args.packing.size != 0) return 0;
  if (is_narrow_weight(args.weight) && fits_narrow_weight(args)) {
    const WideArguments<arguments::fused_conv_out> wide(args);
    return wide_temp_bytes(args.input, args.weight, args.out) + fused_conv_temp_bytes(wide.args(), threads);
  }
  const size_t kept = args.residual == nullptr ? 0 : args.residual->nbytes() + kTempPadding;
  KernelContext context({}, nullptr);
  Convolution convolution;
  const bool valid = read_convolution(context, args, args.bias, args.out, &convolution) == Error::kOk;
  return kept + (valid ? run_convolution_temp_bytes(convolution, threads) : 0) + kTempPadding;
}

}  // namespace berth::portable
