// What sums of digits stand for (narrow_linear_digits.h), for sources of AVX-512 VNNI: in one place, so that all have the
// same bits.
#pragma once

#include "kernels/cpu/narrow_linear_digits.h"
#include "kernels/cpu/x86_intrinsics.h"

#ifdef __x86_64__

namespace berth::cpu {

/// Sums of a chunk's products for sixteen columns, without what their scales are: `digit` has the sums of each digit, from
/// kFirst on, of weights that are as they should be; `zeros` are the columns' zero points.
template <int kFirst, bool kZeros>
BERTH_VNNI_INLINE __m512 value_of_digits(const __m512i (&digit)[NarrowDigits::kDigits],
                                         const NarrowDigits::Chunk& chunk, __m512 zeros) {
  const __m512 base = _mm512_set1_ps(256);
  __m512 all = _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(digit[2], 8), digit[1]));
  if constexpr (kFirst > 0 && !kZeros) return _mm512_mul_ps(all, _mm512_set1_ps(256 * chunk.step));
  if constexpr (kFirst == 0) {
    all = _mm512_fmadd_ps(all, base, _mm512_cvtepi32_ps(digit[0]));
  } else {
    all = _mm512_mul_ps(all, base);
  }
  if constexpr (kZeros) all = _mm512_fnmadd_ps(zeros, _mm512_set1_ps(chunk.total), all);
  return _mm512_mul_ps(all, _mm512_set1_ps(chunk.step));
}

}  // namespace berth::cpu

#endif
