// Digits with AVX-512 VNNI.
#include <algorithm>

#include "kernels/cpu/narrow_digit_sums_x86.h"
#include "kernels/cpu/narrow_linear_digits_run.h"
#include "kernels/cpu/narrow_numbers_x86.h"
#include "kernels/cpu/x86_intrinsics.h"

#ifdef __x86_64__

namespace berth::cpu {
namespace {

constexpr int kDigits = NarrowDigits::kDigits;
constexpr int64_t kLanes = 16;

BERTH_VNNI float largest_of(const float* x, int64_t n) { return largest_magnitude(x, n); }

// Sets the sums of each digit.
BERTH_VNNI void split(const float* x, int64_t n, float steps, int shift, int8_t* to, int32_t* sums) {
  const __m512i closer = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
  DigitSplitter splitter(steps, shift);
  for (int64_t k = 0; k < n; k += kLanes, to += kDigits * kLanes) {
    const __m512i digits = splitter.split(x + k, n - k);
    _mm512_mask_storeu_epi32(to, 0xFFF, _mm512_permutexvar_epi32(closer, digits));
  }
  splitter.sums(sums);
}

template <int kRows, int kVectors>
using Sums = __m512i[kRows][kDigits][kVectors];

// Digits from kFirst on; those before are 0.
template <int64_t kBits, int kFirst, int kRows, int kVectors>
BERTH_VNNI_INLINE void add_group(const uint8_t* weight, const int8_t* x, int64_t row_bytes,
                                 Sums<kRows, kVectors>& sum) {
  const __m512i low = _mm512_set1_epi8(15);
  __m512i bytes[kVectors];
  __m512i upper[kVectors];
  BERTH_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    _mm_prefetch(reinterpret_cast<const char*>(weight) + digits_ahead(kBits) + v * 64, _MM_HINT_T0);
    bytes[v] = _mm512_loadu_si512(weight + v * 64);
    if constexpr (kBits == 4) {
      upper[v] = _mm512_and_si512(_mm512_srli_epi16(bytes[v], 4), low);
      bytes[v] = _mm512_and_si512(bytes[v], low);
    }
  }
  BERTH_UNROLL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL
    for (int d = kFirst; d < kDigits; ++d) {
      const __m512i first = four_bytes(x + i * row_bytes + 4 * d);
      BERTH_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[i][d][v] = add_byte_products(bytes[v], first, sum[i][d][v]);
      if constexpr (kBits == 4) {
        const __m512i second = four_bytes(x + i * row_bytes + 4 * (kDigits + d));
        BERTH_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[i][d][v] = add_byte_products(upper[v], second, sum[i][d][v]);
      }
    }
  }
}

// One chunk, and columns from `column` on, as many as kVectors registers hold.
template <int64_t kBits, int kFirst, int kRows, int kVectors>
BERTH_VNNI_INLINE void add_columns(const DigitTurn& turn, const DigitRows& rows, int64_t column, float* out) {
  constexpr int64_t kGroup = 32 / kBits;
  Sums<kRows, kVectors> sum;
  BERTH_UNROLL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL
    for (int d = kFirst; d < kDigits; ++d) {
      const __m512i start = _mm512_set1_epi32(rows.chunk[i * rows.row_chunks].start[d]);
      BERTH_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[i][d][v] = start;
    }
  }
  const uint8_t* weight = turn.weight + column * 4;
  const int8_t* x = rows.digits;
  for (int64_t k = 0; k < turn.rows; k += kGroup, weight += turn.width * 4, x += kDigits * kGroup) {
    add_group<kBits, kFirst, kRows, kVectors>(weight, x, rows.row_bytes, sum);
  }
  const bool has_zeros = turn.numbers.has_zeros();
  BERTH_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const int64_t at = column + v * kLanes;
    _mm_prefetch(scales_ahead(turn.numbers, at, digits_ahead(kBits)), _MM_HINT_T0);
    const __m512 scale = scales_of_16(turn.numbers, at);
    const __m512 zeros = has_zeros ? zeros_of_16(turn.numbers, at) : _mm512_setzero_ps();
    BERTH_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const NarrowDigits::Chunk& chunk = rows.chunk[i * rows.row_chunks];
      __m512i digit[kDigits];
      BERTH_UNROLL
      for (int d = kFirst; d < kDigits; ++d) digit[d] = sum[i][d][v];
      const __m512 all = has_zeros ? value_of_digits<kFirst, true>(digit, chunk, zeros)
                                   : value_of_digits<kFirst, false>(digit, chunk, zeros);
      float* to = out + i * kNarrowPanel + at;
      _mm512_storeu_ps(to, _mm512_fmadd_ps(all, scale, _mm512_loadu_ps(to)));
    }
  }
}

// What a panel has behind its last kVectors registers, row by row.
template <int64_t kBits, int kFirst>
BERTH_VNNI [[gnu::noinline]] void add_rest(const DigitTurn& turn, DigitRows rows, int64_t count, int64_t from,
                                           float* out) {
  for (int64_t i = 0; i < count; ++i, out += kNarrowPanel) {
    for (int64_t column = from; column < turn.width; column += kLanes) {
      add_columns<kBits, kFirst, 1, 1>(turn, rows, column, out);
    }
    rows.digits += rows.row_bytes;
    rows.chunk += rows.row_chunks;
  }
}

template <int64_t kBits, int kFirst, int kRows>
BERTH_VNNI [[gnu::noinline]] void add_rows(const DigitTurn& whole, DigitRows rows, float* out) {
  // Sums, weights and what they are multiplied with are all registers that there are.
  constexpr int kVectors = kRows == 1 || (kRows == 2 && (kBits == 8 || kFirst > 0)) ? 4 : 2;
  constexpr int64_t kGroup = 32 / kBits;
  DigitTurn turn = whole;
  for (int64_t left = whole.rows; left > 0; left -= whole.block) {
    turn.rows = std::min(left, whole.block);
    int64_t column = 0;
    for (; column + kVectors * kLanes <= turn.width; column += kVectors * kLanes) {
      add_columns<kBits, kFirst, kRows, kVectors>(turn, rows, column, out);
    }
    if (column < turn.width) add_rest<kBits, kFirst>(turn, rows, kRows, column, out);
    turn.weight += whole.block / kGroup * turn.width * 4;
    turn.numbers.advance(turn.width);
    rows.digits += kDigits * whole.block;
    ++rows.chunk;
  }
}

template <int64_t kBits, int kFirst>
void add_all_rows(const DigitTurn& turn, DigitRows rows, int64_t count, float* out) {
  // Fewer digits leave registers for more rows.
  constexpr int kMost = kFirst == 0 ? 4 : 6;
  for (int64_t taken = 0; count > 0; count -= taken) {
    taken = count >= kMost ? kMost : count >= 4 ? 4 : count >= 2 ? 2 : 1;
    if (taken == 6) add_rows<kBits, kFirst, kMost>(turn, rows, out);
    if (taken == 4) add_rows<kBits, kFirst, 4>(turn, rows, out);
    if (taken == 2) add_rows<kBits, kFirst, 2>(turn, rows, out);
    if (taken == 1) add_rows<kBits, kFirst, 1>(turn, rows, out);
    rows.digits += taken * rows.row_bytes;
    rows.chunk += taken * rows.row_chunks;
    out += taken * kNarrowPanel;
  }
}

}  // namespace

DigitFunctions vnni_digit_functions(int64_t bits, int64_t digits) {
  if (digits == 2) return {largest_of, split, bits == 8 ? add_all_rows<8, 1> : add_all_rows<4, 1>};
  return {largest_of, split, bits == 8 ? add_all_rows<8, 0> : add_all_rows<4, 0>};
}

}  // namespace berth::cpu

#endif
