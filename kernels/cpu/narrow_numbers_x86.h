// Scales and zero points of narrow weights in registers of x86-64, for sources of one instruction set.
#pragma once

#include "kernels/cpu/narrow_linear_run.h"
#include "kernels/cpu/x86_intrinsics.h"

#ifdef __x86_64__

namespace berth::cpu {

/// Those of 16 columns from `column` on.
BERTH_VNNI_INLINE __m512 scales_of_16(const NarrowNumbers& numbers, int64_t column) {
  if (numbers.scales != nullptr) return _mm512_loadu_ps(numbers.scales + column);
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers.half_scales + column)));
}

/// REQUIRES: numbers.has_zeros().
BERTH_VNNI_INLINE __m512 zeros_of_16(const NarrowNumbers& numbers, int64_t column) {
  if (numbers.real_zeros != nullptr) return _mm512_loadu_ps(numbers.real_zeros + column);
  const auto* bytes = reinterpret_cast<const __m128i*>(numbers.zeros + column);
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(bytes)));
}

/// Those of 8 columns.
BERTH_AVX2_INLINE __m256 scales_of_8(const NarrowNumbers& numbers, int64_t column) {
  if (numbers.scales != nullptr) return _mm256_loadu_ps(numbers.scales + column);
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(numbers.half_scales + column)));
}

/// REQUIRES: numbers.has_zeros().
BERTH_AVX2_INLINE __m256 zeros_of_8(const NarrowNumbers& numbers, int64_t column) {
  if (numbers.real_zeros != nullptr) return _mm256_loadu_ps(numbers.real_zeros + column);
  const auto* bytes = reinterpret_cast<const __m128i*>(numbers.zeros + column);
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(bytes)));
}

/// What holds the scale of a column, `bytes` further on, for it to be fetched ahead.
inline const char* scales_ahead(const NarrowNumbers& numbers, int64_t column, int64_t bytes) {
  return bytes + (numbers.scales != nullptr ? reinterpret_cast<const char*>(numbers.scales + column)
                                            : reinterpret_cast<const char*>(numbers.half_scales + column));
}

}  // namespace berth::cpu

#endif
