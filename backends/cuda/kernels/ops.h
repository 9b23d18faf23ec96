// What each element-wise operator does to its elements, as the portable kernels define it.
//
// An operator is a number that the launch carries, so that all of them together are compiled once a type to compute in.
#pragma once

#include <cmath>
#include <cstdint>

#include "backends/cuda/kernels/element.h"
#include "kernels/portable/whole_power.h"

namespace berth::cuda {

enum class Op : uint8_t {
  // One element; floating.
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCos,
  kCosh,
  kErf,
  kExp,
  kExpm1,
  kLog,
  kLog10,
  kLog1p,
  kLog2,
  kReciprocal,
  kRsqrt,
  kSigmoid,
  kSin,
  kSinh,
  kSqrt,
  kTan,
  kTanh,
  kElu,
  kLeakyRelu,
  kGelu,
  kGeluTanh,
  kLogit,
  kSquare,
  kCube,
  kInverseSquare,
  // One element.
  kIdentity,
  kAbs,
  kCeil,
  kFloor,
  kRound,
  kTrunc,
  kNeg,
  kSign,
  kRelu,
  kClamp,
  // One element; 1 or 0.
  kIsInf,
  kIsNan,
  kIsZero,
  // Two; floating.
  kDiv,
  kAtan2,
  kGlu,
  // Two.
  kAdd,
  kSub,
  kAddScaled,
  kMul,
  kMaximum,
  kMinimum,
  kDivTrunc,
  kDivTruncRounded,
  kDivFloor,
  kFmod,
  kRemainder,
  kPow,
  // Two; 1 or 0.
  kEqual,
  kNotEqual,
  kGreater,
  kGreaterEqual,
  kLess,
  kLessEqual,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  // One or two; whole numbers.
  kBitNot,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  // Three.
  kSelect,
  kClampTensor,
};

/// Numbers that an operator needs beside the elements, in the type that it computes in.
template <typename T>
struct Numbers {
  T value[3];
  /// kDivTruncRounded: the 16-bit type that the quotient is rounded to.
  DType common;
};

/// Whether `op` divides whole numbers, which a zero forbids.
BERTH_HD constexpr bool divides(Op op) {
  return op == Op::kDivTrunc || op == Op::kDivFloor || op == Op::kFmod || op == Op::kRemainder;
}

namespace ops {

// The functions of the C library, for both floating types, as nvcc and host compilers have them.
#define BERTH_FUNCTION(name) \
  BERTH_HD inline float name##_of(float x) { return ::name##f(x); } \
  BERTH_HD inline double name##_of(double x) { return ::name(x); }
BERTH_FUNCTION(acos)
BERTH_FUNCTION(acosh)
BERTH_FUNCTION(asin)
BERTH_FUNCTION(asinh)
BERTH_FUNCTION(atan)
BERTH_FUNCTION(atanh)
BERTH_FUNCTION(cos)
BERTH_FUNCTION(cosh)
BERTH_FUNCTION(erf)
BERTH_FUNCTION(exp)
BERTH_FUNCTION(expm1)
BERTH_FUNCTION(log)
BERTH_FUNCTION(log10)
BERTH_FUNCTION(log1p)
BERTH_FUNCTION(log2)
BERTH_FUNCTION(sin)
BERTH_FUNCTION(sinh)
BERTH_FUNCTION(sqrt)
BERTH_FUNCTION(tan)
BERTH_FUNCTION(tanh)
BERTH_FUNCTION(fabs)
BERTH_FUNCTION(ceil)
BERTH_FUNCTION(floor)
BERTH_FUNCTION(trunc)
BERTH_FUNCTION(rint)
#undef BERTH_FUNCTION
BERTH_HD inline float atan2_of(float y, float x) { return ::atan2f(y, x); }
BERTH_HD inline double atan2_of(double y, double x) { return ::atan2(y, x); }
BERTH_HD inline float fmod_of(float x, float y) { return ::fmodf(x, y); }
BERTH_HD inline double fmod_of(double x, double y) { return ::fmod(x, y); }
BERTH_HD inline float pow_of(float x, float y) { return ::powf(x, y); }
BERTH_HD inline double pow_of(double x, double y) { return ::pow(x, y); }
BERTH_HD inline float sign_from(float x, float y) { return ::copysignf(x, y); }
BERTH_HD inline double sign_from(double x, double y) { return ::copysign(x, y); }

template <typename T>
BERTH_HD inline T sigmoid_of(T x) {
  const T e = exp_of(-fabs_of(x));
  return (x >= 0 ? T(1) : e) / (T(1) + e);
}

// Infinity, without a header that the device does not have.
template <typename T>
BERTH_HD inline bool is_infinite(T x) {
  return x == x && x - x != x - x;
}

template <typename T>
BERTH_HD inline T logit_of(T x, T eps) {
  if (eps >= 0) {
    x = x < eps ? eps : x;
    x = x > T(1) - eps ? T(1) - eps : x;
  }
  return log_of(x / (T(1) - x));
}

template <typename T>
BERTH_HD inline T gelu_tanh_of(T x) {
  const T inner = T(0.79788456080286535588) * (x + T(0.044715) * (x * x * x));
  return T(0.5) * x * (T(1) + tanh_of(inner));
}

// A limit that is NaN makes everything NaN; of a lower limit above the upper one, the upper one counts.
template <typename T>
BERTH_HD inline T clamp_of(T x, T low, T high) {
  if (high != high) return high;
  if (low != low) return low;
  x = x < low ? low : x;
  return x > high ? high : x;
}

template <typename T>
BERTH_HD inline T floored_rest(T x, T y) {
  const T rest = fmod_of(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

// Without the exact rest a whole multiple of y is left, so that the quotient needs rounding to the nearest only.
template <typename T>
BERTH_HD inline T floored_quotient(T x, T y) {
  if (y == 0) return x / y;
  const T rest = fmod_of(x, y);
  const T below = rest != 0 && (rest < 0) != (y < 0) ? T(1) : T(0);
  const T quotient = rint_of((x - rest) / y - below);
  return quotient == 0 ? sign_from(T(0), x / y) : quotient;
}

BERTH_HD inline int64_t negative(int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); }

// The smallest integer divided by -1 wraps; a division by zero is 0, and was reported.
BERTH_HD inline int64_t whole_quotient(int64_t x, int64_t y) {
  if (y == 0) return 0;
  return y == -1 ? negative(x) : x / y;
}
BERTH_HD inline int64_t whole_rest(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
BERTH_HD inline bool leaves_below(int64_t rest, int64_t y) { return rest != 0 && (rest < 0) != (y < 0); }

// Operators on floating types alone.
template <typename T>
BERTH_HD inline T apply_floating(Op op, T x, T y, const Numbers<T>& n) {
  switch (op) {
    case Op::kAcos: return acos_of(x);
    case Op::kAcosh: return acosh_of(x);
    case Op::kAsin: return asin_of(x);
    case Op::kAsinh: return asinh_of(x);
    case Op::kAtan: return atan_of(x);
    case Op::kAtanh: return atanh_of(x);
    case Op::kCos: return cos_of(x);
    case Op::kCosh: return cosh_of(x);
    case Op::kErf: return erf_of(x);
    case Op::kExp: return exp_of(x);
    case Op::kExpm1: return expm1_of(x);
    case Op::kLog: return log_of(x);
    case Op::kLog10: return log10_of(x);
    case Op::kLog1p: return log1p_of(x);
    case Op::kLog2: return log2_of(x);
    case Op::kReciprocal: return T(1) / x;
    case Op::kRsqrt: return T(1) / sqrt_of(x);
    case Op::kSigmoid: return sigmoid_of(x);
    case Op::kSin: return sin_of(x);
    case Op::kSinh: return sinh_of(x);
    case Op::kSqrt: return sqrt_of(x);
    case Op::kTan: return tan_of(x);
    case Op::kTanh: return tanh_of(x);
    case Op::kElu: return x <= 0 ? expm1_of(x * n.value[2]) * n.value[0] : x * n.value[1];
    case Op::kLeakyRelu: return x > 0 ? x : x * n.value[0];
    case Op::kGelu: return x * T(0.5) * (T(1) + erf_of(x * T(0.70710678118654752440)));
    case Op::kGeluTanh: return gelu_tanh_of(x);
    case Op::kLogit: return logit_of(x, n.value[0]);
    case Op::kSquare: return x * x;
    case Op::kCube: return x * x * x;
    case Op::kInverseSquare: return T(1) / (x * x);
    case Op::kDiv: return x / y;
    case Op::kAtan2: return atan2_of(x, y);
    case Op::kGlu: return x * sigmoid_of(y);
    default: return T(0);
  }
}

// Operators whose meaning is another for floating and for whole numbers.
template <typename T>
BERTH_HD inline T apply_real(Op op, T x, T y, const Numbers<T>& n) {
  switch (op) {
    case Op::kAbs: return fabs_of(x);
    case Op::kCeil: return ceil_of(x);
    case Op::kFloor: return floor_of(x);
    case Op::kRound: return rint_of(x);
    case Op::kTrunc: return trunc_of(x);
    case Op::kNeg: return -x;
    case Op::kIsInf: return is_infinite(x) ? T(1) : T(0);
    case Op::kAdd: return x + y;
    case Op::kSub: return x - y;
    case Op::kAddScaled: return x + n.value[0] * y;
    case Op::kMul: return x * y;
    case Op::kDivTrunc: return trunc_of(x / y);
    case Op::kDivTruncRounded: return trunc_of(rounded(x / y, n.common));
    case Op::kDivFloor: return floored_quotient(x, y);
    case Op::kFmod: return fmod_of(x, y);
    case Op::kRemainder: return floored_rest(x, y);
    case Op::kPow: return pow_of(x, y);
    default: return apply_floating(op, x, y, n);
  }
}

BERTH_HD inline int64_t apply_whole(Op op, int64_t x, int64_t y, const Numbers<int64_t>& n) {
  const auto ux = static_cast<uint64_t>(x);
  const auto uy = static_cast<uint64_t>(y);
  const int64_t bits = n.value[0];
  switch (op) {
    case Op::kAbs: return x < 0 ? negative(x) : x;
    case Op::kCeil:
    case Op::kFloor:
    case Op::kRound:
    case Op::kTrunc: return x;
    case Op::kNeg: return negative(x);
    case Op::kIsInf: return 0;
    case Op::kAdd: return static_cast<int64_t>(ux + uy);
    case Op::kSub: return static_cast<int64_t>(ux - uy);
    case Op::kAddScaled: return static_cast<int64_t>(ux + static_cast<uint64_t>(n.value[0]) * uy);
    case Op::kMul: return static_cast<int64_t>(ux * uy);
    case Op::kDivTrunc: return whole_quotient(x, y);
    case Op::kDivFloor: return whole_quotient(x, y) - (leaves_below(whole_rest(x, y), y) ? 1 : 0);
    case Op::kFmod: return whole_rest(x, y);
    case Op::kRemainder: return whole_rest(x, y) + (leaves_below(whole_rest(x, y), y) ? y : 0);
    case Op::kPow: return portable::whole_power(x, y);
    case Op::kBitNot: return ~x;
    case Op::kBitAnd: return x & y;
    case Op::kBitOr: return x | y;
    case Op::kBitXor: return x ^ y;
    // Too far a shift leaves nothing, or the sign alone.
    case Op::kShiftLeft: return y < 0 || y >= bits ? 0 : static_cast<int64_t>(ux << y);
    case Op::kShiftRight: return y < 0 || y >= bits ? (x < 0 ? -1 : 0) : x >> y;
    default: return 0;
  }
}

template <typename T>
BERTH_HD inline T truth(bool x) {
  return x ? T(1) : T(0);
}

}  // namespace ops

/// The result of `op` on x, y and z, those of them that it has.
template <typename T>
BERTH_HD inline T apply(Op op, T x, T y, T z, const Numbers<T>& n) {
  using ops::truth;
  switch (op) {
    case Op::kIdentity: return x;
    // 0 for NaN, as PyTorch has it.
    case Op::kSign: return x > 0 ? T(1) : (x < 0 ? T(-1) : T(0));
    case Op::kRelu: return x < 0 ? T(0) : x;
    case Op::kClamp: return ops::clamp_of(x, n.value[0], n.value[1]);
    case Op::kIsNan: return truth<T>(x != x);
    case Op::kIsZero: return truth<T>(x == 0);
    // A NaN on either side is the result.
    case Op::kMaximum: return x >= y || x != x ? x : y;
    case Op::kMinimum: return x <= y || x != x ? x : y;
    case Op::kEqual: return truth<T>(x == y);
    case Op::kNotEqual: return truth<T>(x != y);
    case Op::kGreater: return truth<T>(x > y);
    case Op::kGreaterEqual: return truth<T>(x >= y);
    case Op::kLess: return truth<T>(x < y);
    case Op::kLessEqual: return truth<T>(x <= y);
    case Op::kLogicalAnd: return truth<T>(x != 0 && y != 0);
    case Op::kLogicalOr: return truth<T>(x != 0 || y != 0);
    case Op::kLogicalXor: return truth<T>((x != 0) != (y != 0));
    case Op::kSelect: return x != 0 ? y : z;
    case Op::kClampTensor: {
      const T raised = x >= y || x != x ? x : y;
      return raised <= z || raised != raised ? raised : z;
    }
    default: break;
  }
  if constexpr (std::is_same_v<T, int64_t>) {
    return ops::apply_whole(op, x, y, n);
  } else {
    return ops::apply_real(op, x, y, n);
  }
}

}  // namespace berth::cuda
