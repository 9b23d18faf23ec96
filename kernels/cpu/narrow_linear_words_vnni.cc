// Words with AVX-512 VNNI.
#include <algorithm>

#include "kernels/cpu/narrow_digit_sums_x86.h"
#include "kernels/cpu/narrow_linear_words_run.h"
#include "kernels/cpu/narrow_numbers_x86.h"
#include "kernels/cpu/x86_intrinsics.h"

#ifdef __x86_64__

namespace berth::cpu {
namespace {

constexpr int64_t kLanes = 16;

BERTH_VNNI int32_t split(const float* x, int64_t n, float steps, int16_t* to) {
  const __m512 factor = _mm512_set1_ps(steps);
  __m512i sum = _mm512_setzero_si512();
  for (int64_t k = 0; k < n; k += kLanes) {
    const __mmask16 mask = mask_of_16(n - k);
    const __m512i words = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + k), factor));
    sum = _mm512_add_epi32(sum, words);
    _mm512_mask_cvtepi32_storeu_epi16(to + k, mask, words);
  }
  return _mm512_reduce_add_epi32(sum);
}

// The numbers of some rows of a group (packing_narrow.h), which lie in the bytes that `bytes` picks.
BERTH_VNNI_INLINE void store_pair(__m512i group, __m512i bytes, __m512i centre, int16_t* to) {
  _mm512_storeu_si512(to, _mm512_sub_epi16(_mm512_shuffle_epi8(group, bytes), centre));
}

template <int64_t kBits>
BERTH_VNNI void widen(const uint8_t* weight, int64_t width, int64_t rows, int16_t* to) {
  constexpr int64_t kGroup = 32 / kBits;
  const __m512i low = _mm512_set1_epi8(15);
  const __m512i centre = _mm512_set1_epi16(1 << (kBits - 1));
  const __m512i first = _mm512_broadcast_i32x4(_mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1));
  const __m512i second =
      _mm512_broadcast_i32x4(_mm_setr_epi8(2, -1, 3, -1, 6, -1, 7, -1, 10, -1, 11, -1, 14, -1, 15, -1));
  for (int64_t k = 0; k < rows; k += kGroup) {
    int16_t* pair = to + k * width;
    for (int64_t column = 0; column < width; column += kLanes, weight += 64, pair += 2 * kLanes) {
      const __m512i group = _mm512_loadu_si512(weight);
      if constexpr (kBits == 8) {
        store_pair(group, first, centre, pair);
        store_pair(group, second, centre, pair + 2 * width);
      } else {
        const __m512i lower = _mm512_and_si512(group, low);
        const __m512i upper = _mm512_and_si512(_mm512_srli_epi16(group, 4), low);
        store_pair(lower, first, centre, pair);
        store_pair(lower, second, centre, pair + 2 * width);
        store_pair(upper, first, centre, pair + 4 * width);
        store_pair(upper, second, centre, pair + 6 * width);
      }
    }
  }
}

// By its name, so that sums stay where they are: as a function g++ copies each of them around the loop.
BERTH_VNNI_INLINE __m512i add_products(__m512i weights, __m512i words, __m512i sum) {
  __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(words));
  return sum;
}

// A chunk: `length` elements of each row, and what they are multiplied with, `numbers` from the columns' first on. Sums
// of whole numbers and totals are all registers that there are.
template <bool kZeros, int kRows, int kVectors>
BERTH_VNNI_INLINE void add_chunk(const int16_t* weight, int64_t width, int64_t length, const NarrowNumbers& numbers,
                                 const WordRows& rows, Totals<kRows, kVectors>& total) {
  __m512i sum[kRows][kVectors];
  BERTH_UNROLL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = _mm512_setzero_si512();
  }
  const int16_t* x = rows.words;
  for (int64_t k = 0; k < length; k += 2, weight += 2 * width, x += 2) {
    __m512i pairs[kVectors];
    BERTH_UNROLL
    for (int v = 0; v < kVectors; ++v) pairs[v] = _mm512_loadu_si512(weight + v * 2 * kLanes);
    BERTH_UNROLL
    for (int i = 0; i < kRows; ++i) {
      int32_t pair;
      __builtin_memcpy(&pair, x + i * rows.row_words, sizeof pair);
      const __m512i both = _mm512_set1_epi32(pair);
      BERTH_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[i][v] = add_products(pairs[v], both, sum[i][v]);
    }
  }
  BERTH_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const __m512 scale = scales_of_16(numbers, v * kLanes);
    const __m512 zero = kZeros ? zeros_of_16(numbers, v * kLanes) : _mm512_setzero_ps();
    BERTH_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const NarrowWords::Chunk& chunk = rows.chunk[i * rows.row_chunks];
      __m512 all = _mm512_cvtepi32_ps(sum[i][v]);
      if constexpr (kZeros) all = _mm512_fnmadd_ps(zero, _mm512_set1_ps(chunk.total), all);
      all = _mm512_mul_ps(all, _mm512_set1_ps(chunk.step));
      total[i][v] = _mm512_fmadd_ps(all, scale, total[i][v]);
    }
  }
}

template <bool kZeros, int kRows, int kVectors>
BERTH_VNNI [[gnu::noinline]] void add_columns(const WordTurn& turn, int64_t column, WordRows rows, float* out) {
  Totals<kRows, kVectors> total;
  load_totals(out + column, total);
  NarrowNumbers numbers = turn.numbers.from(column);
  const int16_t* weight = turn.weight + 2 * column;
  int64_t block_left = std::min(turn.block, turn.rows);
  for (int64_t left = turn.rows; left > 0;) {
    const int64_t length = std::min(block_left, NarrowDigits::kChunk);
    add_chunk<kZeros, kRows, kVectors>(weight, turn.width, length, numbers, rows, total);
    weight += length * turn.width;
    rows.words += length;
    ++rows.chunk;
    left -= length;
    block_left -= length;
    if (block_left > 0) continue;
    block_left = std::min(turn.block, left);
    numbers.advance(turn.width);
  }
  store_totals(total, out + column);
}

template <bool kZeros, int kRows>
void add_rows(const WordTurn& turn, const WordRows& rows, float* out) {
  constexpr int kVectors = 2;
  int64_t column = 0;
  for (; column + kVectors * kLanes <= turn.width; column += kVectors * kLanes) {
    add_columns<kZeros, kRows, kVectors>(turn, column, rows, out);
  }
  if (column < turn.width) add_columns<kZeros, kRows, 1>(turn, column, rows, out);
}

template <bool kZeros>
void add_all_rows(const WordTurn& turn, WordRows rows, int64_t count, float* out) {
  for (int64_t taken = 0; count > 0; count -= taken) {
    taken = count >= kWordRows ? kWordRows : count >= 3 ? 3 : 1;
    if (taken == kWordRows) add_rows<kZeros, kWordRows>(turn, rows, out);
    if (taken == 3) add_rows<kZeros, 3>(turn, rows, out);
    if (taken == 1) add_rows<kZeros, 1>(turn, rows, out);
    rows.words += taken * rows.row_words;
    rows.chunk += taken * rows.row_chunks;
    out += taken * kNarrowPanel;
  }
}

void add(const WordTurn& turn, WordRows rows, int64_t count, float* out) {
  turn.numbers.has_zeros() ? add_all_rows<true>(turn, rows, count, out) : add_all_rows<false>(turn, rows, count, out);
}

}  // namespace

WordFunctions vnni_word_functions(int64_t bits) { return {split, bits == 8 ? widen<8> : widen<4>, add}; }

}  // namespace berth::cpu

#endif
