#include "kernels/portable/reduce.h"

#include <limits>

#include "kernels/portable/dispatch.h"
#include "kernels/portable/multiversion.h"

namespace berth::portable {
namespace {

constexpr int64_t kLanes = 16;
// Elements whose sum is taken in single precision, so that each lane takes no more than 32.
constexpr int64_t kRun = 512;

BERTH_INLINE int64_t shorter(int64_t a, int64_t b) { return a < b ? a : b; }

// The sum of f(0) to f(n - 1). The lanes are written out so that the order of the additions, and with it the error, is
// the same with and without vector instructions.
template <typename F>
BERTH_INLINE double sum_in_lanes(int64_t n, F f) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kRun) {
    const int64_t end = shorter(begin + kRun, n);
    float lanes[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      BERTH_SIMD
      for (int64_t j = 0; j < kLanes; ++j) lanes[j] += f(i + j);
    }
    for (int64_t j = 0; i + j < end; ++j) lanes[j] += f(i + j);
    for (int64_t width = kLanes / 2; width > 0; width /= 2) {
      BERTH_SIMD
      for (int64_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
    }
    total += static_cast<double>(lanes[0]);
  }
  return total;
}

void sum_rows_f32(const void* x, int64_t n, void* state) {
  *static_cast<double*>(state) += sum_f32(static_cast<const float*>(x), n);
}
BERTH_MULTIVERSION void sum_columns_f32(const void* x, int64_t n, void* state) {
  const float* elements = static_cast<const float*>(x);
  double* sums = static_cast<double*>(state);
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) sums[i] += static_cast<double>(elements[i]);
}

// Rows and columns of any other operation: `Op` combines a state and an element.
template <typename T, typename S, typename Op>
void fold_rows(const void* x, int64_t n, void* state) {
  const T* elements = static_cast<const T*>(x);
  S result = *static_cast<S*>(state);
  for (int64_t i = 0; i < n; ++i) result = Op::combine(result, elements[i]);
  *static_cast<S*>(state) = result;
}
template <typename T, typename S, typename Op>
BERTH_MULTIVERSION void fold_columns(const void* x, int64_t n, void* state) {
  const T* elements = static_cast<const T*>(x);
  S* states = static_cast<S*>(state);
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) states[i] = Op::combine(states[i], elements[i]);
}
template <typename T, typename S, typename Op>
constexpr AccumulatePair fold() {
  return {fold_rows<T, S, Op>, fold_columns<T, S, Op>};
}

struct Sum {
  BERTH_INLINE static double combine(double s, double x) { return s + x; }
  BERTH_INLINE static int64_t combine(int64_t s, int64_t x) {
    return static_cast<int64_t>(static_cast<uint64_t>(s) + static_cast<uint64_t>(x));
  }
};
struct Prod {
  BERTH_INLINE static double combine(double s, double x) { return s * x; }
  BERTH_INLINE static int64_t combine(int64_t s, int64_t x) {
    return static_cast<int64_t>(static_cast<uint64_t>(s) * static_cast<uint64_t>(x));
  }
};
// Once NaN, a state stays so: no comparison with it is true.
struct Max {
  BERTH_INLINE static double combine(double s, double x) { return x > s || x != x ? x : s; }
  BERTH_INLINE static int64_t combine(int64_t s, int64_t x) { return x > s ? x : s; }
};
struct Min {
  BERTH_INLINE static double combine(double s, double x) { return x < s || x != x ? x : s; }
  BERTH_INLINE static int64_t combine(int64_t s, int64_t x) { return x < s ? x : s; }
};
struct Any {
  template <typename T>
  BERTH_INLINE static int64_t combine(int64_t s, T x) {
    return s | static_cast<int64_t>(x != 0);
  }
};

BERTH_MULTIVERSION bool has_nan(const float* x, int64_t n) {
  int found = 0;
#pragma omp simd reduction(| : found)
  for (int64_t i = 0; i < n; ++i) found |= x[i] != x[i] ? 1 : 0;
  return found != 0;
}

BERTH_MULTIVERSION float min_f32(const float* x, int64_t n) {
  float smallest = std::numeric_limits<float>::infinity();
#pragma omp simd reduction(min : smallest)
  for (int64_t i = 0; i < n; ++i) smallest = x[i] < smallest ? x[i] : smallest;
  return smallest;
}

template <typename Op>
void extreme_rows_f32(const void* x, int64_t n, void* state, float (*extreme)(const float*, int64_t)) {
  const float* elements = static_cast<const float*>(x);
  double* best = static_cast<double*>(state);
  const bool nan = has_nan(elements, n);
  const double found = nan ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(extreme(elements, n));
  *best = Op::combine(*best, found);
}
void max_rows_f32(const void* x, int64_t n, void* state) { extreme_rows_f32<Max>(x, n, state, max_f32); }
void min_rows_f32(const void* x, int64_t n, void* state) { extreme_rows_f32<Min>(x, n, state, min_f32); }

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

// The states of one block.
union States {
  double real[ReducePlan::kColumns];
  int64_t whole[ReducePlan::kColumns];
};

}  // namespace

constexpr Reducer kSumReducer = {
    {sum_rows_f32, sum_columns_f32}, fold<double, double, Sum>(), fold<int64_t, int64_t, Sum>(), 0, 0, false};
constexpr Reducer kProdReducer = {
    fold<float, double, Prod>(), fold<double, double, Prod>(), fold<int64_t, int64_t, Prod>(), 1, 1, false};
constexpr Reducer kMaxReducer = {{max_rows_f32, fold_columns<float, double, Max>},
                                 fold<double, double, Max>(),
                                 fold<int64_t, int64_t, Max>(),
                                 -kInfinity,
                                 kSmallest,
                                 false,
                                 true};
constexpr Reducer kMinReducer = {{min_rows_f32, fold_columns<float, double, Min>},
                                 fold<double, double, Min>(),
                                 fold<int64_t, int64_t, Min>(),
                                 kInfinity,
                                 kLargest,
                                 false,
                                 true};
constexpr Reducer kAnyReducer = {
    fold<float, int64_t, Any>(), fold<double, int64_t, Any>(), fold<int64_t, int64_t, Any>(), 0, 0, true};

BERTH_MULTIVERSION double sum_f32(const float* x, int64_t n) {
  return sum_in_lanes(n, [x](int64_t i) { return x[i]; });
}

BERTH_MULTIVERSION double sum_squares_f32(const float* x, int64_t n, float mean) {
  return sum_in_lanes(n, [x, mean](int64_t i) { return (x[i] - mean) * (x[i] - mean); });
}

BERTH_MULTIVERSION float max_f32(const float* x, int64_t n) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

Error read_sum_dtype(KernelContext& context, const Tensor& self, std::optional<int64_t> dtype, DType* common) {
  if (!dtype.has_value()) {
    *common = is_floating(self.dtype()) ? self.dtype() : DType::kI64;
    return Error::kOk;
  }
  const int64_t number = *dtype;
  const bool valid = number >= 0 && number <= 127 && is_valid_dtype(static_cast<int>(number));
  if (!valid || !is_real(static_cast<DType>(number))) return unsupported_dtype(context);
  *common = static_cast<DType>(number);
  return Error::kOk;
}

Error run_reduction(KernelContext& context, const Tensor& self, const ReducedDims& dims, DType common, DType result,
                    const Reducer& reducer, double scale, Tensor& out) {
  const bool is_u64 = self.dtype() == DType::kU64;
  if (!is_real(self.dtype()) || !is_real(common) || !is_real(out.dtype()) || (is_u64 && common == DType::kI64)) {
    return unsupported_dtype(context);
  }
  if (!can_cast(result, out.dtype())) {
    return context.fail(Error::kInvalidArgument, "the result's dtype cannot be cast to the output's");
  }
  if (const Error error = resize_reduced(context, self, dims, out); error != Error::kOk) return error;
  const ReducePlan plan(self, out, dims, common, false);
  const DType compute = compute_dtype(common);
  const AccumulatePair& pair = reducer.at(compute);
  const Accumulate accumulate = plan.by_columns() ? pair.columns : pair.rows;
  const bool whole = reducer.whole_state || compute == DType::kI64;
  const bool flips = is_u64 && reducer.ordered && compute == DType::kI64;
  context.parallel_for(plan.outputs(), plan.grain(), [&](int64_t begin, int64_t end) {
    plan.for_each_wide_block(begin, end, [&](int64_t first, int64_t count) {
      States states;
      for (int64_t i = 0; i < count; ++i) {
        if (whole) states.whole[i] = reducer.whole_identity;
        if (!whole) states.real[i] = reducer.real_identity;
      }
      if (plan.has_dense_rows()) {
        plan.feed_rows(first, count, [&](int64_t i, const void* x) {
          void* const state = whole ? static_cast<void*>(&states.whole[i]) : &states.real[i];
          accumulate(x, plan.elements(), state);
        });
      } else {
        plan.feed(first, count, [&](const void* x, int64_t n) {
          if (flips) return accumulate(Flipped(x, n).numbers, n, &states);
          accumulate(x, n, &states);
        });
      }
      for (int64_t i = 0; i < count && flips; ++i) states.whole[i] = flipped(states.whole[i]);
      for (int64_t i = 0; i < count && !whole; ++i) states.real[i] *= scale;
      char* target = out.data<char>() + first * element_size(out.dtype());
      convert_elements(whole ? DType::kI64 : DType::kF64, &states, out.dtype(), target, count);
    });
  });
  return Error::kOk;
}

}  // namespace berth::portable
