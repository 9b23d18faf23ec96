// Half and BFloat16: 16-bit floating-point numbers as storage; arithmetic goes through float.
//
// Formats: IEEE 754 binary16, and the upper 16 bits of binary32. Conversions round to nearest, ties to even.
#pragma once

#include <cstdint>
#include <cstring>

namespace berth {

namespace internal {

inline uint32_t bits_of(float x) {
  uint32_t u;
  std::memcpy(&u, &x, sizeof u);
  return u;
}
inline float float_of(uint32_t u) {
  float x;
  std::memcpy(&x, &u, sizeof x);
  return x;
}

inline uint16_t half_from_float(float x) {
  const uint32_t u = bits_of(x);
  const uint32_t sign = (u >> 16) & 0x8000u;
  const uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // overflows to infinity
  if (magnitude < 0x38800000u) {  // subnormal: let the FPU round by adding a number whose last place is 2^-24
    const float rounded = float_of(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (bits_of(rounded) - bits_of(0.5f)));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

inline float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400u) return float_of(sign | ((magnitude << 13) + 0x38000000u));
  const float small = static_cast<float>(magnitude) * 5.9604644775390625e-8f;  // 2^-24
  return float_of(sign | bits_of(small));
}

inline uint16_t bfloat16_from_float(float x) {
  const uint32_t u = bits_of(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40u);  // NaN stays NaN
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

}  // namespace internal

struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float x) : bits(internal::half_from_float(x)) {}
  operator float() const { return internal::half_to_float(bits); }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float x) : bits(internal::bfloat16_from_float(x)) {}
  operator float() const { return internal::float_of(static_cast<uint32_t>(bits) << 16); }
};

}  // namespace berth
