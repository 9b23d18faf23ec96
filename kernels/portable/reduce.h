// Reductions to one number an output: the state of a reduction is a double for floating types and an int64_t for
// whole numbers; an operator says how elements go into it.
#pragma once

#include "kernels/portable/reduce_plan.h"
#include "runtime/arguments.h"

namespace berth::portable {

/// Takes in elements of the type to compute in. Rows: all `n` into `*state`. Columns: element i into `state[i]`.
using Accumulate = void (*)(const void* x, int64_t n, void* state);

struct AccumulatePair {
  Accumulate rows;
  Accumulate columns;
};

/// One operator: how to accumulate in each type, and what an empty reduction gives.
struct Reducer {
  AccumulatePair f32;
  AccumulatePair f64;
  AccumulatePair i64;
  double real_identity;
  int64_t whole_identity;
  /// Whether the states are whole numbers for floating elements too.
  bool whole_state;
  /// Whether the order of elements counts, which u64 and i64 do not share.
  bool ordered = false;

  const AccumulatePair& at(DType compute) const {
    return compute == DType::kF32 ? f32 : compute == DType::kF64 ? f64 : i64;
  }
};

extern const Reducer kSumReducer;
extern const Reducer kProdReducer;
extern const Reducer kMaxReducer;
extern const Reducer kMinReducer;
extern const Reducer kAnyReducer;

/// The dtype that sums and products of `self` are in: `dtype` (a ScalarType? argument) if there is one; else its own,
/// and i64 for whole numbers. InvalidArgument when `dtype` is not a real type.
Error read_sum_dtype(KernelContext& context, const Tensor& self, std::optional<int64_t> dtype, DType* common);

/// Reduces `self`, each element converted to `common` first, and stores state times `scale` in `out`, which is resized.
/// InvalidArgument when `result`, the dtype by PyTorch's rules, cannot be cast to out's.
Error run_reduction(KernelContext& context, const Tensor& self, const ReducedDims& dims, DType common, DType result,
                    const Reducer& reducer, double scale, Tensor& out);

/// The mean over `dims`, in read_sum_dtype()'s dtype, which must be floating.
Error reduce_mean(KernelContext& context, const Tensor& self, const ReducedDims& dims, std::optional<int64_t> dtype,
                  Tensor& out);

/// The sum of `n` floats: in short runs of parallel lanes, their sums in double, so that the error stays near one
/// rounding however long the row is.
double sum_f32(const float* x, int64_t n);

/// The sum of (x[i] - mean)^2, in the same way.
double sum_squares_f32(const float* x, int64_t n, float mean);

/// The largest of `n` floats, NaN left out; -infinity when there are none.
float max_f32(const float* x, int64_t n);

}  // namespace berth::portable
