// berth::rms_norm: each row over the last dimension, divided by the root of the mean of its squares and eps.
//
//   input       [..., size], in row-major order
//   weight      [size], or none: what each column is multiplied by behind it
//   out         as input, which it may be
#include "kernels/portable/fused_rms_norm.h"

#include <cmath>

#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/norm.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/reduce.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrainElements = 8192;

}  // namespace

Error prepare_rms_norm(KernelContext& context, const arguments::fused_rms_norm_out& args) {
  const Tensor& input = args.input;
  for (const Tensor* tensor : {&input, static_cast<const Tensor*>(&args.out), args.weight}) {
    if (tensor != nullptr && (tensor->dtype() != DType::kF32 || !tensor->is_contiguous())) {
      return context.fail(Error::kInvalidArgument, "input, weight and result must be f32 in row-major order");
    }
  }
  if (input.rank() < 1 ||
      (args.weight != nullptr && (args.weight->rank() != 1 || args.weight->size(0) != input.size(input.rank() - 1)))) {
    return context.fail(Error::kInvalidArgument, "a weight must have as many elements as a row");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out, input.sizes()));
  BERTH_RETURN_IF_ERROR(check_memory(context, input, args.out));
  return args.weight == nullptr ? Error::kOk : check_memory(context, *args.weight);
}

Error fused_rms_norm_out(KernelContext& context, const arguments::fused_rms_norm_out& args) {
  BERTH_RETURN_IF_ERROR(prepare_rms_norm(context, args));
  if (args.input.numel() == 0) return Error::kOk;
  const int64_t n = args.input.size(args.input.rank() - 1);
  const float* weight = args.weight == nullptr ? nullptr : args.weight->data<float>();
  context.parallel_for(args.input.numel() / n, kGrainElements / n + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* x = args.input.data<float>() + row * n;
      const double squares = sum_squares_f32(x, n, 0) / static_cast<double>(n);
      normalize_f32(x, args.out.data<float>() + row * n, n, {0, 1 / std::sqrt(squares + args.eps)}, weight, nullptr);
    }
  });
  return Error::kOk;
}

}  // namespace berth::portable
