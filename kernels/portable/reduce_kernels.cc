// sum, mean, prod, amax, amin, max, min, any.
#include <limits>

#include "kernels/portable/complex_arithmetic.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/reduce.h"

namespace berth::portable {
namespace {

int64_t reduced_elements(const Tensor& self, uint32_t mask) {
  int64_t count = 1;
  for (int d = 0; d < self.rank(); ++d) {
    if ((mask >> d & 1u) != 0) count *= self.size(d);
  }
  return count;
}

int64_t kept_elements(const Tensor& self, uint32_t mask) { return reduced_elements(self, ~mask); }

Error run_sum(KernelContext& context, const Tensor& self, const ReducedDims& dims, const EValue& dtype,
              const Reducer& reducer, Tensor& out) {
  DType common = DType::kF32;
  if (const Error error = read_sum_dtype(context, self, dtype, &common); error != Error::kOk) return error;
  return run_reduction(context, self, dims, common, common, reducer, 1, out);
}

Error run_mean(KernelContext& context, const Tensor& self, const ReducedDims& dims, const EValue& dtype, Tensor& out) {
  DType common = DType::kF32;
  if (const Error error = read_sum_dtype(context, self, dtype, &common); error != Error::kOk) return error;
  if (!is_floating(common)) {
    return context.fail(Error::kInvalidArgument,
                        "mean takes floating-point tensors, or integers with a floating dtype");
  }
  const int64_t count = reduced_elements(self, dims.mask);
  const double scale = count == 0 ? std::numeric_limits<double>::quiet_NaN() : 1 / static_cast<double>(count);
  return run_reduction(context, self, dims, common, common, kSumReducer, scale, out);
}

Error run_extreme(KernelContext& context, const Tensor& self, const ReducedDims& dims, const Reducer& reducer,
                  Tensor& out) {
  if (reduced_elements(self, dims.mask) == 0 && kept_elements(self, dims.mask) != 0) {
    return context.fail(Error::kInvalidArgument, "the largest or smallest of no elements is not defined");
  }
  return run_reduction(context, self, dims, self.dtype(), self.dtype(), reducer, 1, out);
}

Error run_extreme_dims(KernelContext& context, Span<EValue* const> args, const Reducer& reducer) {
  const Tensor& self = args[0]->tensor();
  ReducedDims dims = {0, args[2]->truth()};
  if (const Error error = read_reduced_dims(context, *args[1], self, &dims.mask); error != Error::kOk) return error;
  return run_extreme(context, self, dims, reducer, args[3]->tensor());
}

Error run_any(KernelContext& context, const Tensor& self, const ReducedDims& dims, Tensor& out) {
  return run_reduction(context, self, dims, self.dtype(), DType::kBool, kAnyReducer, 1, out);
}

}  // namespace

Error sum_IntList_out(KernelContext& context, Span<EValue* const> args) {
  if (is_complex(args[0]->tensor().dtype())) return complex_sum(context, args);
  const Tensor& self = args[0]->tensor();
  ReducedDims dims = {0, args[2]->truth()};
  if (const Error error = read_reduced_dims(context, *args[1], self, &dims.mask); error != Error::kOk) return error;
  return run_sum(context, self, dims, *args[3], kSumReducer, args[4]->tensor());
}

Error prod_int_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  ReducedDims dims = {0, args[2]->truth()};
  const Error error = read_reduced_dim(context, args[1]->integer(), self, &dims.mask);
  if (error != Error::kOk) return error;
  return run_sum(context, self, dims, *args[3], kProdReducer, args[4]->tensor());
}

Error prod_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  return run_sum(context, self, {all_dims(self), false}, *args[1], kProdReducer, args[2]->tensor());
}

Error mean_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  ReducedDims dims = {0, args[2]->truth()};
  if (const Error error = read_reduced_dims(context, *args[1], self, &dims.mask); error != Error::kOk) return error;
  return run_mean(context, self, dims, *args[3], args[4]->tensor());
}

Error mean_dtype_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  return run_mean(context, self, {all_dims(self), false}, *args[1], args[2]->tensor());
}

Error amax_out(KernelContext& context, Span<EValue* const> args) {
  return run_extreme_dims(context, args, kMaxReducer);
}
Error amin_out(KernelContext& context, Span<EValue* const> args) {
  return run_extreme_dims(context, args, kMinReducer);
}
Error max_unary_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  return run_extreme(context, self, {all_dims(self), false}, kMaxReducer, args[1]->tensor());
}
Error min_unary_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  return run_extreme(context, self, {all_dims(self), false}, kMinReducer, args[1]->tensor());
}

Error any_all_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  return run_any(context, self, {all_dims(self), false}, args[1]->tensor());
}

Error any_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  ReducedDims dims = {0, args[2]->truth()};
  const Error error = read_reduced_dim(context, args[1]->integer(), self, &dims.mask);
  if (error != Error::kOk) return error;
  return run_any(context, self, dims, args[3]->tensor());
}

// Unlike in other reductions, an empty list here reduces nothing.
Error any_dims_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  ReducedDims dims = {0, args[2]->truth()};
  if (args[1]->is_none() || !args[1]->items().empty()) {
    if (const Error error = read_reduced_dims(context, *args[1], self, &dims.mask); error != Error::kOk) return error;
  }
  return run_any(context, self, dims, args[3]->tensor());
}

}  // namespace berth::portable
