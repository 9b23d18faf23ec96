// var and var_mean: the mean first, then the squared distances from it.
#include "kernels/portable/dispatch.h"
#include "kernels/portable/multiversion.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/reduce.h"

namespace berth::portable {
namespace {

struct Moments {
  double mean[ReducePlan::kColumns] = {};
  double squares[ReducePlan::kColumns] = {};
};

template <typename T>
BERTH_MULTIVERSION void add_squares(const T* x, int64_t n, const double* mean, double* squares) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) {
    const double distance = static_cast<double>(x[i]) - mean[i];
    squares[i] += distance * distance;
  }
}

double sum_squares_f64(const double* x, int64_t n, double mean) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

void feed_squares(bool f64, bool columns, const void* x, int64_t n, Moments* moments) {
  const float* floats = static_cast<const float*>(x);
  const double* doubles = static_cast<const double*>(x);
  if (columns && f64) {
    add_squares(doubles, n, moments->mean, moments->squares);
  } else if (columns) {
    add_squares(floats, n, moments->mean, moments->squares);
  } else if (f64) {
    moments->squares[0] += sum_squares_f64(doubles, n, moments->mean[0]);
  } else {
    moments->squares[0] += sum_squares_f32(floats, n, static_cast<float>(moments->mean[0]));
  }
}

void run_block(const ReducePlan& plan, bool f64, double divisor, Tensor& out, int64_t first, int64_t count) {
  Moments moments;
  const AccumulatePair& sum = f64 ? kSumReducer.f64 : kSumReducer.f32;
  const Accumulate accumulate = plan.by_columns() ? sum.columns : sum.rows;
  plan.feed(first, count, [&](const void* x, int64_t n) { accumulate(x, n, moments.mean); });
  for (int64_t i = 0; i < count; ++i) moments.mean[i] /= static_cast<double>(plan.elements());
  plan.feed(first, count, [&](const void* x, int64_t n) { feed_squares(f64, plan.by_columns(), x, n, &moments); });
  for (int64_t i = 0; i < count; ++i) moments.squares[i] /= divisor;
  char* target = out.data<char>() + first * element_size(out.dtype());
  convert_elements(DType::kF64, moments.squares, out.dtype(), target, count);
}

Error run_var(KernelContext& context, const Tensor& self, const ReducedDims& dims, double correction, Tensor& out) {
  if (!is_floating(self.dtype()) || !is_floating(out.dtype())) {
    return context.fail(Error::kInvalidArgument, "var takes floating-point tensors only");
  }
  if (const Error error = resize_reduced(context, self, dims, out); error != Error::kOk) return error;
  const ReducePlan plan(self, out, dims, self.dtype(), false);
  const bool f64 = self.dtype() == DType::kF64;
  const double freedom = static_cast<double>(plan.elements()) - correction;
  const double divisor = freedom > 0 ? freedom : 0;
  context.parallel_for(plan.outputs(), plan.grain(), [&](int64_t begin, int64_t end) {
    plan.for_each_block(begin, end,
                        [&](int64_t first, int64_t count) { run_block(plan, f64, divisor, out, first, count); });
  });
  return Error::kOk;
}

double read_correction(const EValue& correction) { return correction.is_none() ? 1 : correction.scalar_to<double>(); }

}  // namespace

Error var_out(KernelContext& context, const arguments::var_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  if (const Error error = read_reduced_dims(context, args.dim, self, &dims.mask); error != Error::kOk) return error;
  return run_var(context, self, dims, args.unbiased ? 1 : 0, args.out);
}

Error var_correction_out(KernelContext& context, const arguments::var_correction_out& args) {
  const Tensor& self = args.self;
  ReducedDims dims = {0, args.keepdim};
  if (const Error error = read_reduced_dims(context, args.dim, self, &dims.mask); error != Error::kOk) return error;
  return run_var(context, self, dims, read_correction(args.correction), args.out);
}

Error var_mean_correction_out(KernelContext& context, const arguments::var_mean_correction_out& args) {
  ReducedDims dims = {0, args.keepdim};
  BERTH_RETURN_IF_ERROR(read_reduced_dims(context, args.dim, args.self, &dims.mask));
  BERTH_RETURN_IF_ERROR(run_var(context, args.self, dims, read_correction(args.correction), args.out0));
  return reduce_mean(context, args.self, dims, std::nullopt, args.out1);
}

}  // namespace berth::portable
