// argmax, argmin, and max and min along a dimension with their indices. Of equal elements the first counts; a NaN is
// larger and smaller than everything.
#include <limits>
#include <type_traits>

#include "kernels/portable/broadcast.h"
#include "kernels/portable/dispatch.h"
#include "kernels/portable/multiversion.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/reduce_plan.h"

namespace berth::portable {
namespace {

// The best element so far and its index, for each output of a block; S is the type to compute in.
template <typename S>
struct Best {
  S value[ReducePlan::kColumns];
  int64_t index[ReducePlan::kColumns];
  int64_t position = 0;  // of the next element
};

template <typename S, bool largest>
constexpr S worst_value() {
  using Limits = std::numeric_limits<S>;
  if constexpr (Limits::has_infinity) return largest ? -Limits::infinity() : Limits::infinity();
  return largest ? Limits::min() : Limits::max();
}

// Nothing is better than a NaN.
template <typename S, bool largest>
BERTH_INLINE bool is_better(S x, S best) {
  const bool beyond = largest ? x > best : x < best;
  return beyond || (x != x && best == best);
}

template <typename S, bool largest>
BERTH_MULTIVERSION void best_of_columns(const S* x, int64_t n, S* best, int64_t* index, int64_t position) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) {
    const bool better = is_better<S, largest>(x[i], best[i]);
    best[i] = better ? x[i] : best[i];
    index[i] = better ? position : index[i];
  }
}

// The best value of a row alone, NaN left out; a second look then finds where it is.
template <typename S>
BERTH_MULTIVERSION S largest_of_row(const S* x, int64_t n) {
  S best = worst_value<S, true>();
#pragma omp simd reduction(max : best)
  for (int64_t i = 0; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}
template <typename S>
BERTH_MULTIVERSION S smallest_of_row(const S* x, int64_t n) {
  S best = worst_value<S, false>();
#pragma omp simd reduction(min : best)
  for (int64_t i = 0; i < n; ++i) best = x[i] < best ? x[i] : best;
  return best;
}

template <typename S>
BERTH_INLINE bool is_same(S a, S b) {
  return a == b || (a != a && b != b);
}

// How many of `n` elements are `value`, which may be NaN.
template <typename S>
BERTH_MULTIVERSION int64_t count_of(const S* x, int64_t n, S value) {
  int64_t found = 0;
#pragma omp simd reduction(+ : found)
  for (int64_t i = 0; i < n; ++i) found += is_same(x[i], value) ? 1 : 0;
  return found;
}

// Where `value`, which is there, first stands. Blocks without it are passed over whole.
template <typename S>
int64_t find_first(const S* x, int64_t n, S value) {
  constexpr int64_t kBlock = 128;
  int64_t i = 0;
  while (i + kBlock <= n && count_of(x + i, kBlock, value) == 0) i += kBlock;
  while (i < n && !is_same(x[i], value)) ++i;
  return i;
}

template <typename S, bool largest>
void feed_row(const S* x, int64_t n, Best<S>* best) {
  S found = largest ? largest_of_row(x, n) : smallest_of_row(x, n);
  if constexpr (std::numeric_limits<S>::has_quiet_NaN) {
    const S nan = std::numeric_limits<S>::quiet_NaN();
    if (count_of(x, n, nan) != 0) found = nan;
  }
  if (is_better<S, largest>(found, best->value[0])) {
    best->value[0] = found;
    best->index[0] = best->position + find_first(x, n, found);
  }
  best->position += n;
}

struct Outputs {
  Tensor* values;      // may be null
  Tensor* indices;     // i64
  bool flips = false;  // elements are u64, which are compared as i64
};

template <typename S, bool largest>
void run_block(const ReducePlan& plan, DType compute, const Outputs& outputs, int64_t first, int64_t count) {
  Best<S> best;
  for (int64_t i = 0; i < count; ++i) {
    best.value[i] = worst_value<S, largest>();
    best.index[i] = 0;
  }
  const auto take = [&](const void* x, int64_t n) {
    if (plan.by_columns()) {
      best_of_columns<S, largest>(static_cast<const S*>(x), n, best.value, best.index, best.position++);
    } else {
      feed_row<S, largest>(static_cast<const S*>(x), n, &best);
    }
  };
  plan.feed(first, count, [&](const void* x, int64_t n) {
    if (outputs.flips) return take(Flipped(x, n).numbers, n);
    take(x, n);
  });
  for (int64_t i = 0; i < count; ++i) outputs.indices->data<int64_t>()[first + i] = best.index[i];
  if (outputs.values == nullptr) return;
  const DType dtype = outputs.values->dtype();
  char* target = outputs.values->data<char>() + first * element_size(dtype);
  if constexpr (std::is_same_v<S, int64_t>) {
    for (int64_t i = 0; i < count && outputs.flips; ++i) best.value[i] = flipped(best.value[i]);
  }
  convert_elements(compute, best.value, dtype, target, count);
}

template <bool largest>
void run_typed(const ReducePlan& plan, DType compute, const Outputs& outputs, int64_t begin, int64_t end) {
  plan.for_each_block(begin, end, [&](int64_t first, int64_t count) {
    switch (compute) {
      case DType::kF32: return run_block<float, largest>(plan, compute, outputs, first, count);
      case DType::kF64: return run_block<double, largest>(plan, compute, outputs, first, count);
      default: return run_block<int64_t, largest>(plan, compute, outputs, first, count);
    }
  });
}

Error check_index_reduction(KernelContext& context, const Tensor& self, const ReducedDims& dims,
                            const Outputs& outputs) {
  if (!is_real(self.dtype())) return unsupported_dtype(context);
  if (outputs.indices->dtype() != DType::kI64) {
    return context.fail(Error::kInvalidArgument, "the tensor of indices must be i64");
  }
  if (outputs.values != nullptr && !can_cast(self.dtype(), outputs.values->dtype())) {
    return context.fail(Error::kInvalidArgument, "the result's dtype cannot be cast to the output's");
  }
  int64_t reduced = 1;
  int64_t kept = 1;
  for (int d = 0; d < self.rank(); ++d) ((dims.mask >> d & 1u) != 0 ? reduced : kept) *= self.size(d);
  if (reduced == 0 && kept != 0) {
    return context.fail(Error::kInvalidArgument, "the largest or smallest of no elements is not defined");
  }
  return Error::kOk;
}

Error run_index_reduction(KernelContext& context, const Tensor& self, const ReducedDims& dims, bool largest,
                          const Outputs& outputs) {
  Error error = check_index_reduction(context, self, dims, outputs);
  if (error == Error::kOk) error = resize_reduced(context, self, dims, *outputs.indices);
  if (error == Error::kOk && outputs.values != nullptr) error = resize_reduced(context, self, dims, *outputs.values);
  if (error != Error::kOk) return error;
  if (outputs.values != nullptr && !same_layout(*outputs.values, *outputs.indices)) {
    return context.fail(Error::kInvalidArgument, "values and indices must have the same dimension order");
  }
  const ReducePlan plan(self, *outputs.indices, dims, self.dtype(), true);
  const DType compute = compute_dtype(self.dtype());
  const Outputs typed = {outputs.values, outputs.indices, self.dtype() == DType::kU64};
  context.parallel_for(plan.outputs(), plan.grain(), [&](int64_t begin, int64_t end) {
    if (largest) run_typed<true>(plan, compute, typed, begin, end);
    if (!largest) run_typed<false>(plan, compute, typed, begin, end);
  });
  return Error::kOk;
}

template <typename Args>
Error run_arg(KernelContext& context, const Args& args, bool largest) {
  const Tensor& self = args.self;
  if (self.dtype() == DType::kBool) return unsupported_dtype(context);
  ReducedDims dims = {all_dims(self), args.keepdim};
  if (args.dim.has_value()) {
    dims.mask = 0;
    const Error error = read_reduced_dim(context, *args.dim, self, &dims.mask);
    if (error != Error::kOk) return error;
  }
  return run_index_reduction(context, self, dims, largest, {nullptr, &args.out});
}

template <typename Args>
Error run_with_indices(KernelContext& context, const Args& args, bool largest, const Outputs& outputs) {
  ReducedDims dims = {0, args.keepdim};
  const Error error = read_reduced_dim(context, args.dim, args.self, &dims.mask);
  if (error != Error::kOk) return error;
  return run_index_reduction(context, args.self, dims, largest, outputs);
}

}  // namespace

Error argmax_out(KernelContext& context, const arguments::argmax_out& args) { return run_arg(context, args, true); }
Error argmin_out(KernelContext& context, const arguments::argmin_out& args) { return run_arg(context, args, false); }
Error max_dim_max(KernelContext& context, const arguments::max_dim_max& args) {
  return run_with_indices(context, args, true, {&args.max, &args.max_values});
}
Error min_dim_min(KernelContext& context, const arguments::min_dim_min& args) {
  return run_with_indices(context, args, false, {&args.min, &args.min_indices});
}

}  // namespace berth::portable
