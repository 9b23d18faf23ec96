// berth::conv: activation(convolution(input, weight) + bias + residual). The weight is dense.
#include <algorithm>
#include <cstring>

#include "kernels/portable/conv_arguments.h"
#include "kernels/portable/fused_activation.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

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

Error fused_conv_out(KernelContext& context, const arguments::fused_conv_out& args) {
  if (args.packing.size != 0) {
    return context.fail(Error::kNotSupported, "this convolution's weight is packed; portable kernels take dense ones");
  }
  Activation activation;
  BERTH_RETURN_IF_ERROR(read_activation(context, args, &activation));
  Tensor& out = args.out;
  const Tensor* residual = args.residual;
  if (out.dtype() != DType::kF32 || (residual != nullptr && residual->dtype() != DType::kF32)) {
    return context.fail(Error::kInvalidArgument, "fused operators take f32");
  }
  const float* start = nullptr;
  if (residual != nullptr) {
    BERTH_RETURN_IF_ERROR(check_memory(context, *residual));
    start = residual->data<float>();
    if (residual->raw() == out.raw()) {
      // The convolution overwrites it.
      void* kept = context.allocate_temp(residual->nbytes());
      if (kept == nullptr) return Error::kMemoryAllocationFailed;
      std::memcpy(kept, residual->raw(), residual->nbytes());
      start = static_cast<const float*>(kept);
    }
  }
  Convolution convolution;
  BERTH_RETURN_IF_ERROR(read_convolution(context, args, args.bias, out, &convolution));
  BERTH_RETURN_IF_ERROR(run_convolution(context, convolution));
  if (residual != nullptr) {
    if (!same_sizes(*residual, out))
      return context.fail(Error::kInvalidArgument, "the residual must be as large as out");
    if (same_layout(*residual, out)) {
      add(context, start, out.data<float>(), out.numel());
    } else {
      add_strided(*residual, out);
    }
  }
  context.parallel_for(out.numel(), 4096, [&](int64_t begin, int64_t end) {
    activate(activation, out.data<float>() + begin, end - begin);
  });
  return Error::kOk;
}

size_t fused_conv_temp_bytes(const arguments::fused_conv_out& args, int threads) {
  if (args.packing.size != 0) return 0;
  const size_t kept = args.residual == nullptr ? 0 : args.residual->nbytes() + kTempPadding;
  KernelContext context({}, nullptr);
  Convolution convolution;
  const bool valid = read_convolution(context, args, args.bias, args.out, &convolution) == Error::kOk;
  return kept + (valid ? run_convolution_temp_bytes(convolution, threads) : 0) + kTempPadding;
}

}  // namespace berth::portable
