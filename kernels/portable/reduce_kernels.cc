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

Error run_sum(KernelContext& context, const Tensor& self, const ReducedDims& dims, std::optional<int64_t> dtype,
              const Reducer& reducer, Tensor& out) {
  DType common = DType::kF32;
  if (const Error error = read_sum_dtype(context, self, dtype, &common); error != Error::kOk) return error;
  return run_reduction(context, self, dims, common, common, reducer, 1, out);
}

Error run_extreme(KernelContext& context, const Tensor& self, const ReducedDims& dims, const Reducer& reducer,
                  Tensor& out) {
  if (reduced_elements(self, dims.mask) == 0 && kept_elements(self, dims.mask) != 0) {
    return context.fail(Error::kInvalidArgument, "the largest or smallest of no elements is not defined");
  }
  return run_reduction(context, self, dims, self.dtype(), self.dtype(), reducer, 1, out);
}

template <typename Args>
Error run_extreme_dims(KernelContext& context, const Args& args, const Reducer& reducer) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  if (const Error error = read_reduced_dims(context, args.dim, self, &dims.mask); error != Error::kOk) return error;
  return run_extreme(context, self, dims, reducer, args.out);
}

Error run_any(KernelContext& context, const Tensor& self, const ReducedDims& dims, Tensor& out) {
  return run_reduction(context, self, dims, self.dtype(), DType::kBool, kAnyReducer, 1, out);
}

}  // namespace

Error reduce_mean(KernelContext& context, const Tensor& self, const ReducedDims& dims, std::optional<int64_t> dtype,
                  Tensor& out) {
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

Error sum_IntList_out(KernelContext& context, const arguments::sum_IntList_out& args) {
  if (is_complex(args.self.dtype())) return complex_sum(context, args);
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  if (const Error error = read_reduced_dims(context, args.dim, self, &dims.mask); error != Error::kOk) return error;
  return run_sum(context, self, dims, args.dtype, kSumReducer, args.out);
}

Error prod_int_out(KernelContext& context, const arguments::prod_int_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  const Error error = read_reduced_dim(context, args.dim, self, &dims.mask);
  if (error != Error::kOk) return error;
  return run_sum(context, self, dims, args.dtype, kProdReducer, args.out);
}

Error prod_out(KernelContext& context, const arguments::prod_out& args) {
  const Tensor& self = args.self;
  return run_sum(context, self, {all_dims(self), false}, args.dtype, kProdReducer, args.out);
}

Error mean_out(KernelContext& context, const arguments::mean_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  if (const Error error = read_reduced_dims(context, args.dim, self, &dims.mask); error != Error::kOk) return error;
  return reduce_mean(context, self, dims, args.dtype, args.out);
}

Error mean_dtype_out(KernelContext& context, const arguments::mean_dtype_out& args) {
  const Tensor& self = args.self;
  return reduce_mean(context, self, {all_dims(self), false}, args.dtype, args.out);
}

Error amax_out(KernelContext& context, const arguments::amax_out& args) {
  return run_extreme_dims(context, args, kMaxReducer);
}
Error amin_out(KernelContext& context, const arguments::amin_out& args) {
  return run_extreme_dims(context, args, kMinReducer);
}
Error max_unary_out(KernelContext& context, const arguments::max_unary_out& args) {
  const Tensor& self = args.self;
  return run_extreme(context, self, {all_dims(self), false}, kMaxReducer, args.out);
}
Error min_unary_out(KernelContext& context, const arguments::min_unary_out& args) {
  const Tensor& self = args.self;
  return run_extreme(context, self, {all_dims(self), false}, kMinReducer, args.out);
}

Error any_all_out(KernelContext& context, const arguments::any_all_out& args) {
  const Tensor& self = args.self;
  return run_any(context, self, {all_dims(self), false}, args.out);
}

Error any_out(KernelContext& context, const arguments::any_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  const Error error = read_reduced_dim(context, args.dim, self, &dims.mask);
  if (error != Error::kOk) return error;
  return run_any(context, self, dims, args.out);
}

// Unlike in other reductions, an empty list here reduces nothing.
Error any_dims_out(KernelContext& context, const arguments::any_dims_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  if (!args.dim.has_value() || !args.dim->empty()) {
    if (const Error error = read_reduced_dims(context, args.dim, self, &dims.mask); error != Error::kOk) return error;
  }
  return run_any(context, self, dims, args.out);
}

}  // namespace berth::portable
