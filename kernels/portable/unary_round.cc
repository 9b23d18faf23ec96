// Operators on one tensor whose result has its dtype: signs, rounding, and tests of single elements.
#include <cmath>

#include "kernels/portable/complex_arithmetic.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/promotion.h"

namespace berth::portable {
namespace {

BERTH_INLINE float floor_of(float x) { return __builtin_floorf(x); }
BERTH_INLINE float ceil_of(float x) { return __builtin_ceilf(x); }
BERTH_INLINE float trunc_of(float x) { return __builtin_truncf(x); }
BERTH_INLINE float round_of(float x) { return __builtin_rintf(x); }
BERTH_INLINE double floor_of(double x) { return std::floor(x); }
BERTH_INLINE double ceil_of(double x) { return std::ceil(x); }
BERTH_INLINE double trunc_of(double x) { return std::trunc(x); }
BERTH_INLINE double round_of(double x) { return std::rint(x); }
// Whole numbers are round already.
BERTH_INLINE int64_t floor_of(int64_t x) { return x; }
BERTH_INLINE int64_t ceil_of(int64_t x) { return x; }
BERTH_INLINE int64_t trunc_of(int64_t x) { return x; }
BERTH_INLINE int64_t round_of(int64_t x) { return x; }

template <typename T>
struct Floor : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x) const { return floor_of(x); }
};
template <typename T>
struct Ceil : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x) const { return ceil_of(x); }
};
template <typename T>
struct Trunc : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x) const { return trunc_of(x); }
};
// Half to even.
template <typename T>
struct Round : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x) const { return round_of(x); }
};

BERTH_INLINE float negative(float x) { return -x; }
BERTH_INLINE double negative(double x) { return -x; }
BERTH_INLINE int64_t negative(int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); }
BERTH_INLINE float magnitude(float x) { return __builtin_fabsf(x); }
BERTH_INLINE double magnitude(double x) { return __builtin_fabs(x); }
BERTH_INLINE int64_t magnitude(int64_t x) { return x < 0 ? negative(x) : x; }

template <typename T>
struct Neg : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x) const { return negative(x); }
};
template <typename T>
struct Abs : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x) const { return magnitude(x); }
};
// 0 for NaN, as PyTorch has it.
template <typename T>
struct Sign : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x) const { return x > 0 ? T(1) : (x < 0 ? T(-1) : T(0)); }
};
template <typename T>
struct Relu : NoScalars {
  using NoScalars::NoScalars;
  BERTH_INLINE T operator()(T x) const { return x < 0 ? T(0) : x; }
};

// Of u64, which has no signs and is round already.
void same_u64(const Chunk& chunk) {
  unary_chunk<uint64_t, uint64_t>(chunk, [](uint64_t x) { return x; });
}
void sign_u64(const Chunk& chunk) {
  unary_chunk<uint64_t, uint64_t>(chunk, [](uint64_t x) { return static_cast<uint64_t>(x != 0); });
}
template <template <typename> class F>
constexpr Loops loops_with(Loop u64) {
  Loops loops = unary_loops<F>();
  loops.u64 = u64;
  return loops;
}

void bitwise_not_i64(const Chunk& chunk) {
  unary_chunk<int64_t, int64_t>(chunk, [](int64_t x) { return ~x; });
}
void not_bool(const Chunk& chunk) {
  unary_chunk<int64_t, int64_t>(chunk, [](int64_t x) { return static_cast<int64_t>(x == 0); });
}

BERTH_MULTIVERSION void is_zero_f32(const Chunk& chunk) {
  unary_chunk<Bool, float>(chunk, [](float x) { return Bool(x == 0); });
}
void is_zero_f64(const Chunk& chunk) {
  unary_chunk<Bool, double>(chunk, [](double x) { return Bool(x == 0); });
}
void is_zero_i64(const Chunk& chunk) {
  unary_chunk<Bool, int64_t>(chunk, [](int64_t x) { return Bool(x == 0); });
}
BERTH_MULTIVERSION void is_nan_f32(const Chunk& chunk) {
  unary_chunk<Bool, float>(chunk, [](float x) { return Bool(x != x); });
}
void is_nan_f64(const Chunk& chunk) {
  unary_chunk<Bool, double>(chunk, [](double x) { return Bool(x != x); });
}
BERTH_MULTIVERSION void is_inf_f32(const Chunk& chunk) {
  unary_chunk<Bool, float>(chunk, [](float x) { return Bool(magnitude(x) == HUGE_VALF); });
}
void is_inf_f64(const Chunk& chunk) {
  unary_chunk<Bool, double>(chunk, [](double x) { return Bool(magnitude(x) == HUGE_VAL); });
}
void never_i64(const Chunk& chunk) {
  unary_chunk<Bool, int64_t>(chunk, [](int64_t) { return Bool(false); });
}

}  // namespace

Error abs_out(KernelContext& context, const arguments::abs_out& args) {
  if (is_complex(args.self.dtype())) return complex_abs(context, args.self, args.out);
  return run_unary_number(context, args.self, args.out, loops_with<Abs>(same_u64));
}
Error ceil_out(KernelContext& context, const arguments::ceil_out& args) {
  return run_unary_number(context, args.self, args.out, loops_with<Ceil>(same_u64));
}
Error floor_out(KernelContext& context, const arguments::floor_out& args) {
  return run_unary_number(context, args.self, args.out, loops_with<Floor>(same_u64));
}
Error neg_out(KernelContext& context, const arguments::neg_out& args) {
  return run_unary_number(context, args.self, args.out, unary_loops<Neg>());
}
Error relu_out(KernelContext& context, const arguments::relu_out& args) {
  return run_unary_number(context, args.self, args.out, loops_with<Relu>(same_u64));
}
Error round_out(KernelContext& context, const arguments::round_out& args) {
  return run_unary_number(context, args.self, args.out, loops_with<Round>(same_u64));
}
Error sign_out(KernelContext& context, const arguments::sign_out& args) {
  return run_unary(context, args.self, args.out, loops_with<Sign>(sign_u64));
}
Error trunc_out(KernelContext& context, const arguments::trunc_out& args) {
  return run_unary_number(context, args.self, args.out, loops_with<Trunc>(same_u64));
}

Error bitwise_not_out(KernelContext& context, const arguments::bitwise_not_out& args) {
  const DType dtype = args.self.dtype();
  if (!is_integer(dtype) && dtype != DType::kBool) return unsupported_dtype(context);
  return run_unary(context, args.self, args.out,
                   {nullptr, nullptr, dtype == DType::kBool ? not_bool : bitwise_not_i64, bitwise_not_i64});
}

Error isinf_out(KernelContext& context, const arguments::isinf_out& args) {
  return run_unary_predicate(context, args.self, args.out, {is_inf_f32, is_inf_f64, never_i64, never_i64});
}
Error isnan_out(KernelContext& context, const arguments::isnan_out& args) {
  return run_unary_predicate(context, args.self, args.out, {is_nan_f32, is_nan_f64, never_i64, never_i64});
}
Error logical_not_out(KernelContext& context, const arguments::logical_not_out& args) {
  return run_unary_predicate(context, args.self, args.out, {is_zero_f32, is_zero_f64, is_zero_i64, is_zero_i64});
}

}  // namespace berth::portable
