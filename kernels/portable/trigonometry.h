// Sine and cosine of floats for loops, so that a compiler can vectorise them.
//
// An angle up to kFarAngle is reduced by multiples of pi / 2 in doubles, in three parts of which multiples of 2^20 are
// exact (Cody and Waite, "Software Manual for the Elementary Functions", 1980); the series of the rest are shorter than
// a float's last bit. Farther angles, infinities and NaN are the C library's. Results are within 1 unit in the last
// place.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/portable/multiversion.h"

namespace berth::portable::math {

constexpr float kFarAngle = 1048576.0f;

/// The sine of x + kQuarters * pi / 2. REQUIRES: |x| <= kFarAngle, or the result is not used.
template <int kQuarters>
BERTH_INLINE float near_sine(float x) {
  constexpr double kRound =
      6755399441055744.0;  // 1.5 * 2^52: adding it leaves the nearest whole number in the low bits
  constexpr double kHalfPi[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};
  const auto angle = static_cast<double>(x);
  const double shifted = angle * 0x1.45f306dc9c883p-1 + kRound;
  const double n = shifted - kRound;
  const double r = ((angle - n * kHalfPi[0]) - n * kHalfPi[1]) - n * kHalfPi[2];
  const uint64_t quarter = __builtin_bit_cast(uint64_t, shifted) + kQuarters;
  const double t = r * r;
  const double sine =
      r * (1 + t * (-1.0 / 6 + t * (1.0 / 120 + t * (-1.0 / 5040 + t * (1.0 / 362880 - t / 39916800)))));
  const double cosine = 1 + t * (-0.5 + t * (1.0 / 24 + t * (-1.0 / 720 + t * (1.0 / 40320 - t / 3628800))));
  const double either = (quarter & 1) != 0 ? cosine : sine;
  return static_cast<float>((quarter & 2) != 0 ? -either : either);
}

/// sin(x) for kQuarters 0, cos(x) for 1.
template <int kQuarters>
inline float sine(float x) {
  static_assert(kQuarters == 0 || kQuarters == 1);
  if (std::fabs(x) <= kFarAngle) return near_sine<kQuarters>(x);
  return kQuarters == 0 ? std::sin(x) : std::cos(x);
}

}  // namespace berth::portable::math
