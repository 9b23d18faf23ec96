// What sources of AVX-512 VNNI share: digits of numbers and what sums of them stand for (narrow_linear_digits.h), in
// one place, so that all have the same bits; and steps of their loops.
#pragma once

#include "kernels/cpu/narrow_linear_digits.h"
#include "kernels/cpu/x86_intrinsics.h"

#ifdef __x86_64__

namespace berth::cpu {

/// For the next 16 elements, of which there are `left`.
BERTH_VNNI_INLINE __mmask16 mask_of_16(int64_t left) {
  return static_cast<__mmask16>(left >= 16 ? 0xFFFF : (1 << left) - 1);
}

/// The largest magnitude; NaN is the largest of all.
BERTH_VNNI_INLINE float largest_magnitude(const float* x, int64_t n) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i most = _mm512_setzero_si512();
  for (int64_t k = 0; k < n; k += 16) {
    const __m512 v = _mm512_maskz_loadu_ps(mask_of_16(n - k), x + k);
    // As integers, so that NaN is the largest.
    most = _mm512_max_epi32(most, _mm512_and_si512(_mm512_castps_si512(v), magnitude));
  }
  return __builtin_bit_cast(float, _mm512_reduce_max_epi32(most));
}

/// The same four bytes in each number of 32 bits.
BERTH_VNNI_INLINE __m512i four_bytes(const int8_t* bytes) {
  int32_t all;
  __builtin_memcpy(&all, bytes, sizeof all);
  return _mm512_set1_epi32(all);
}

/// Adds the products of bytes without signs, `weights`, and bytes with signs. By its name, so that sums stay where they
/// are: as a function g++ copies each of them around the loop.
BERTH_VNNI_INLINE __m512i add_byte_products(__m512i weights, __m512i bytes, __m512i sum) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(bytes));
  return sum;
}

/// The sums of some rows and columns of a panel, in registers.
template <int kRows, int kVectors>
using Totals = __m512[kRows][kVectors];

template <int kRows, int kVectors>
BERTH_VNNI_INLINE void load_totals(const float* from, Totals<kRows, kVectors>& total) {
  BERTH_UNROLL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL
    for (int v = 0; v < kVectors; ++v) total[i][v] = _mm512_loadu_ps(from + i * kNarrowPanel + v * 16);
  }
}

template <int kRows, int kVectors>
BERTH_VNNI_INLINE void store_totals(const Totals<kRows, kVectors>& total, float* to) {
  BERTH_UNROLL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(to + i * kNarrowPanel + v * 16, total[i][v]);
  }
}

/// Sixteen elements at a time as digits, and the sums of each digit.
class DigitSplitter {
 public:
  /// x * steps, rounded and then times 2^shift, is split.
  BERTH_VNNI_INLINE DigitSplitter(float steps, int shift)
      : factor_(_mm512_set1_ps(steps)), sum_(_mm512_setzero_si512()), shift_(shift) {}

  /// Of each four of the first `count` elements the first digits, then the second ones, the third, and nothing; those
  /// behind are 0.
  BERTH_VNNI_INLINE __m512i split(const float* x, int64_t count) {
    const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask_of_16(count), x), factor_);
    // Digits from 0 to 255 of the number that is half of all numbers greater.
    const __m512i half = _mm512_set1_epi32(0x808080);
    const __m512i greater = _mm512_add_epi32(_mm512_slli_epi32(_mm512_cvtps_epi32(scaled), shift_), half);
    const __m512i sign = _mm512_set1_epi32(static_cast<int>(0x80808080));
    const __m512i by_digit =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, -1, -1, -1, -1));
    const __m512i digits = _mm512_shuffle_epi8(_mm512_xor_si512(greater, sign), by_digit);
    sum_ = _mm512_dpbusd_epi32(sum_, _mm512_set1_epi8(1), digits);
    return digits;
  }

  BERTH_VNNI_INLINE void sums(int32_t* to) const {
    alignas(64) int32_t lanes[16];
    _mm512_store_si512(lanes, sum_);
    for (int d = 0; d < NarrowDigits::kDigits; ++d) to[d] = lanes[d] + lanes[4 + d] + lanes[8 + d] + lanes[12 + d];
  }

 private:
  __m512 factor_;
  __m512i sum_;
  int shift_;
};

/// Sums of a chunk's products for sixteen columns, without what their scales are: `digit` has the sums of each digit,
/// from kFirst on, of weights that are as they should be; `zeros` are the columns' zero points.
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
