// Elementary functions for loops: of floats without branches and calls, so that a compiler can vectorise what they are
// inlined into; of doubles from the C library.
//
// The float versions are within 4 units in the last place wherever the result is finite (exp, log, log2, log10, log1p,
// expm1, tanh, sigmoid, mish, erf), right at zeros, infinities and NaN, and gradual where results are denormal.
// Polynomials are minimax fits of the remainder that each formula leaves, computed with a Remez exchange for this file.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/portable/multiversion.h"

namespace berth::portable::math {

BERTH_INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
BERTH_INLINE float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// ln 2 in two parts; a whole number of up to 8 bits times the first is exact.
constexpr float kLn2High = 0.693145751953125f;
constexpr float kLn2Low = 1.42860677e-6f;

// exp(r) - 1 for |r| <= ln(2) / 2.
BERTH_INLINE float exp_minus_one_near_zero(float r) {
  float p = 1.978926302e-04f;
  p = p * r + 1.394575229e-03f;
  p = p * r + 8.333504200e-03f;
  p = p * r + 4.166628048e-02f;
  p = p * r + 1.666666567e-01f;
  p = p * r + 0.5f;
  return p * (r * r) + r;
}

/// e^x: x = n ln(2) + r; the factor 2^n in two steps, so that the last one rounds to a denormal or overflows by itself.
BERTH_INLINE float exp(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest whole number in the low bits
  float bounded = x > 89.0f ? 89.0f : x;
  bounded = bounded < -104.0f ? -104.0f : bounded;
  const float shifted = bounded * 1.442695041f + kRound;
  const float n = shifted - kRound;
  const float r = (bounded - n * kLn2High) - n * kLn2Low;
  const auto exponent = static_cast<int32_t>(bits_of(shifted) - bits_of(kRound));
  const int32_t half = exponent >> 1;
  const float scale = float_of(static_cast<uint32_t>(half + 127) << 23);
  const float rest = float_of(static_cast<uint32_t>(exponent - half + 127) << 23);
  return (1.0f + exp_minus_one_near_zero(r)) * scale * rest;
}

BERTH_INLINE float expm1(float x) {
  const float near = exp_minus_one_near_zero(x);
  const float far = exp(x) - 1.0f;
  return __builtin_fabsf(x) < 0.34657359f ? (x == 0.0f ? x : near) : far;
}

// x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)), and ln(m), for positive finite x.
struct LogParts {
  float exponent;
  float log_m;
};

BERTH_INLINE LogParts log_parts(float x) {
  constexpr uint32_t kSqrtHalf = 0x3f3504f3u;
  const bool denormal = x < 1.17549435e-38f;
  const float scaled = denormal ? x * 8388608.0f : x;
  const uint32_t shifted = bits_of(scaled) - kSqrtHalf;
  const int32_t exponent = (static_cast<int32_t>(shifted) >> 23) - (denormal ? 23 : 0);
  const float f = float_of((shifted & 0x7fffffu) + kSqrtHalf) - 1.0f;
  float p = 6.746651232e-02f;
  p = p * f - 1.167565435e-01f;
  p = p * f + 1.188815907e-01f;
  p = p * f - 1.240558848e-01f;
  p = p * f + 1.421955228e-01f;
  p = p * f - 1.666799635e-01f;
  p = p * f + 2.000211924e-01f;
  p = p * f - 2.500000894e-01f;
  p = p * f + 3.333331347e-01f;
  const float square = f * f;
  return {static_cast<float>(exponent), f + (p * f * square - 0.5f * square)};
}

// What a logarithm is where its argument is not positive and finite.
BERTH_INLINE float log_or_limit(float x, float log) {
  const float outside = x == 0.0f ? -kInfinity : (x > 0.0f ? x : kNaN);
  return x > 0.0f && x < kInfinity ? log : outside;
}

BERTH_INLINE float log(float x) {
  const LogParts parts = log_parts(x);
  return log_or_limit(x, parts.exponent * kLn2High + (parts.log_m + parts.exponent * kLn2Low));
}

BERTH_INLINE float log2(float x) {
  const LogParts parts = log_parts(x);
  return log_or_limit(x, parts.exponent + parts.log_m * 1.442695041f);
}

BERTH_INLINE float log10(float x) {
  const LogParts parts = log_parts(x);
  const float low = parts.exponent * 4.605039e-6f + parts.log_m * 0.4342944819f;
  return log_or_limit(x, parts.exponent * 0.301025390625f + low);
}

/// ln(1 + x): the logarithm of the rounded sum, and what the rounding took away.
BERTH_INLINE float log1p(float x) {
  const float sum = 1.0f + x;
  const float lost = (x - (sum - 1.0f)) / sum;
  const bool inside = sum > 0.0f && sum < kInfinity;
  const float result = log(sum) + (inside ? lost : 0.0f);
  return x == 0.0f ? x : result;
}

BERTH_INLINE float tanh(float x) {
  const float magnitude = __builtin_fabsf(x);
  const float t = x * x;
  float p = 2.147541847e-03f;
  p = p * t - 8.182680234e-03f;
  p = p * t + 2.170296945e-02f;
  p = p * t - 5.394720659e-02f;
  p = p * t + 1.333321035e-01f;
  p = p * t - 3.333333135e-01f;
  const float near = magnitude + magnitude * (t * p);
  const float far = 1.0f - 2.0f / (exp(2.0f * magnitude) + 1.0f);
  return __builtin_copysignf(magnitude < 0.625f ? near : far, x);
}

/// x, or the nearer of `low` and `high` where it lies beyond; NaN stays.
BERTH_INLINE float bounded(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return raised > high ? high : raised;
}

/// 1 / (1 + e^-x)
BERTH_INLINE float sigmoid(float x) {
  const float e = exp(-__builtin_fabsf(x));
  return (x >= 0.0f ? 1.0f : e) / (1.0f + e);
}

/// x * tanh(ln(1 + e^x)), of e^-|x| alone: of e = e^x, tanh(ln(1 + e)) is (e² + 2e) / (e² + 2e + 2).
BERTH_INLINE float mish(float x) {
  const float e = exp(-__builtin_fabsf(x));
  const float part = x < 0.0f ? e * (e + 2.0f) : 1.0f + 2.0f * e;
  const float rest = x < 0.0f ? 2.0f : 2.0f * (e * e);
  return x * (part / (part + rest));
}

BERTH_INLINE float erf(float x) {
  const float magnitude = __builtin_fabsf(x);
  const float t = x * x;
  float p = -9.680139556e-06f;
  p = p * t + 1.127054566e-04f;
  p = p * t - 8.484711871e-04f;
  p = p * t + 5.221074913e-03f;
  p = p * t - 2.686544508e-02f;
  p = p * t + 1.128378287e-01f;
  p = p * t - 3.761263788e-01f;
  p = p * t + 1.283791671e-01f;
  const float near = x + x * p;
  // Farther out, ln(1 - erf) is close to a polynomial.
  const float bounded = magnitude > 4.1f ? 4.1f : magnitude;
  float q = -2.144554128e-05f;
  q = q * bounded + 4.385296488e-04f;
  q = q * bounded - 4.190854263e-03f;
  q = q * bounded + 2.517180517e-02f;
  q = q * bounded - 1.083615497e-01f;
  q = q * bounded - 6.332724094e-01f;
  q = q * bounded - 1.129552007e+00f;
  q = q * bounded + 1.824597130e-04f;
  const float far = __builtin_copysignf(1.0f - exp(q), x);
  return magnitude < 1.0f ? near : far;
}

/// x times the part of a normal distribution that is below x: within 4e-6 of it, and 0 below -5.9. The binary logarithm
/// of the part above |x| is a polynomial, whose whole part goes to the exponent.
BERTH_INLINE float gelu(float x) {
  constexpr float kRound = 12582912.0f;  // as in exp()
  const float t = __builtin_fabsf(x);
  float p = -1.272706740e-08f;
  p = p * t + 4.254099508e-07f;
  p = p * t - 6.056043730e-06f;
  p = p * t + 4.597072257e-05f;
  p = p * t - 1.666738681e-04f;
  p = p * t - 2.557001135e-04f;
  p = p * t + 7.294064853e-03f;
  p = p * t - 5.270807818e-02f;
  p = p * t - 4.591180980e-01f;
  p = p * t - 1.151119351e+00f;
  p = p * t - 9.999996424e-01f;
  const float shifted = p + kRound;
  const float rest = p - (shifted - kRound);
  float power = 1.340043265e-03f;
  power = power * rest + 9.676037356e-03f;
  power = power * rest + 5.550327152e-02f;
  power = power * rest + 2.402210683e-01f;
  power = power * rest + 6.931471825e-01f;
  power = power * rest + 1.000000119e+00f;
  const float scaled = float_of(bits_of(power) + (bits_of(shifted) << 23));
  const float above = t > 5.9f ? 0.0f : scaled;
  return x * (x < 0.0f ? above : 1.0f - above);
}

inline double exp(double x) { return std::exp(x); }
inline double expm1(double x) { return std::expm1(x); }
inline double log(double x) { return std::log(x); }
inline double log2(double x) { return std::log2(x); }
inline double log10(double x) { return std::log10(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double erf(double x) { return std::erf(x); }
inline double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x >= 0 ? 1 : e) / (1 + e);
}
inline double gelu(double x) { return x * 0.5 * std::erfc(-x * 0.70710678118654752440); }

/// gelu() with the part below x taken as (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
template <typename T>
BERTH_INLINE T gelu_tanh(T x) {
  return x * sigmoid(T(1.5957691216057307) * (x + T(0.044715) * (x * x * x)));
}

}  // namespace berth::portable::math
