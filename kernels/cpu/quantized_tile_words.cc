// Tiles of widened bytes with AVX2: two instructions for sixteen products.
#include "kernels/cpu/quantized_tile.h"
#include "kernels/cpu/quantized_words.h"

#if BERTH_QUANTIZED_AVX2
#include <immintrin.h>

namespace berth::cpu {
namespace {

#define BERTH_TARGET __attribute__((target("avx2")))
#define BERTH_LOCAL BERTH_TARGET __attribute__((always_inline)) static inline

constexpr int64_t kRowNumbers = kWordQuads * kQuad;
constexpr int64_t kHalf = 2 * kPanelColumns;  // numbers of a panel for half a quad

BERTH_LOCAL void widen_run(const uint8_t* from, int64_t quads, __m128i flips, int16_t* to) {
  for (; quads >= 4; quads -= 4, from += 4 * kQuad, to += 4 * kQuad) {
    const __m128i bytes = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), flips);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_cvtepu8_epi16(bytes));
  }
  for (; quads > 0; --quads, from += kQuad, to += kQuad) {
    int32_t four;
    __builtin_memcpy(&four, from, sizeof(four));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_cvtepu8_epi16(_mm_xor_si128(_mm_cvtsi32_si128(four), flips)));
  }
}

BERTH_TARGET void widen_rows(const QuantizedPart& part, int16_t* to) {
  const __m128i flips = _mm_set1_epi32(static_cast<int32_t>(part.flip));
  const uint8_t* const* run = part.a;
  for (int64_t done = 0, first = part.first; done < part.quads; first = 0, ++run) {
    const int64_t rest = part.quads - done, quads = part.run_quads - first < rest ? part.run_quads - first : rest;
    const uint8_t* from = *run + first * kQuad;
    int16_t* out = to + done * kQuad;
    for (int64_t row = 0; row < part.rows; ++row, from += part.a_step, out += kRowNumbers) {
      widen_run(from, quads, flips, out);
    }
    done += quads;
  }
}

BERTH_TARGET void widen_panel(const int8_t* from, int64_t quads, int16_t* to) {
  // The halves of four columns beside each other.
  const __m256i halves =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  for (int64_t quad = 0; quad < quads; ++quad, from += kQuadBytes, to += 2 * kHalf) {
    for (int part = 0; part < 2; ++part) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + part);
      const __m256i sorted = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(bytes, halves), 0xD8);
      auto* const out = reinterpret_cast<__m256i*>(to) + part;
      _mm256_store_si256(out, _mm256_cvtepi8_epi16(_mm256_castsi256_si128(sorted)));
      _mm256_store_si256(out + 2, _mm256_cvtepi8_epi16(_mm256_extracti128_si256(sorted, 1)));
    }
  }
}

// Adds the products of half a quad, of which a row has two numbers and the panel two for each column.
template <int kRows>
BERTH_LOCAL void add_half(const int16_t* rows, const int16_t* panel, __m256i (&sum)[kRows][2]) {
  const __m256i low = _mm256_load_si256(reinterpret_cast<const __m256i*>(panel));
  const __m256i high = _mm256_load_si256(reinterpret_cast<const __m256i*>(panel) + 1);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    int32_t two;
    __builtin_memcpy(&two, rows + i * kRowNumbers, sizeof(two));
    const __m256i row = _mm256_set1_epi32(two);
    sum[i][0] = _mm256_add_epi32(sum[i][0], _mm256_madd_epi16(row, low));
    sum[i][1] = _mm256_add_epi32(sum[i][1], _mm256_madd_epi16(row, high));
    // Row by row: GCC would begin with all of them, and keep half of the sums in memory.
    __asm__ volatile("" : "+x"(sum[i][0]), "+x"(sum[i][1]));
  }
}

template <int kRows>
BERTH_TARGET void tile(const int16_t* rows, const int16_t* panel, int64_t quads, bool first, int32_t* sums,
                       int64_t sums_row) {
  __m256i sum[kRows][2] = {};
  for (int64_t quad = 0; quad < quads; ++quad, rows += kQuad, panel += 2 * kHalf) {
    add_half<kRows>(rows, panel, sum);
    add_half<kRows>(rows + kQuad / 2, panel + kHalf, sum);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i, sums += sums_row) {
#pragma GCC unroll 2
    for (int part = 0; part < 2; ++part) {
      auto* const to = reinterpret_cast<__m256i*>(sums) + part;
      _mm256_store_si256(to, first ? sum[i][part] : _mm256_add_epi32(_mm256_load_si256(to), sum[i][part]));
    }
  }
}

}  // namespace

const QuantizedWordTiles kWordTilesAvx2 = {6, {nullptr, tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>}};
const QuantizedWords kWordsAvx2 = {widen_rows, widen_panel, &kWordTilesAvx2};

}  // namespace berth::cpu
#endif
