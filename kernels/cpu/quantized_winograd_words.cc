// Winograd's matrices in numbers of 16 bits, with AVX2 (quantized_winograd.h).
#include "kernels/cpu/quantized_tile.h"
#include "kernels/cpu/quantized_words.h"

#if BERTH_QUANTIZED_AVX2
#include <immintrin.h>

namespace berth::cpu {
namespace {

#define BERTH_TARGET __attribute__((target("avx2")))
#define BERTH_LOCAL BERTH_TARGET __attribute__((always_inline)) static inline

// Vectors of the compiler's own, for its signs; sums wrap around.
using Words = int16_t __attribute__((vector_size(32)));
using FewWords = int16_t __attribute__((vector_size(16)));
using Sums = uint32_t __attribute__((vector_size(32)));
using SignedSums = int32_t __attribute__((vector_size(32)));

template <typename Numbers>
BERTH_LOCAL void store(const Numbers& numbers, void* to) {
  __builtin_memcpy(to, &numbers, sizeof(numbers));
}

// The 4x4 numbers that a tile sees, times the matrix of inputs from both sides.
template <typename Numbers>
BERTH_LOCAL void turn_input(Numbers (&x)[16], int64_t pair_step, int16_t* to) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Numbers a = x[j] - x[8 + j], b = x[4 + j] + x[8 + j], c = x[8 + j] - x[4 + j], d = x[4 + j] - x[12 + j];
    x[j] = a;
    x[4 + j] = b;
    x[8 + j] = c;
    x[12 + j] = d;
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Numbers* row = x + 4 * i;
    int16_t* const first = to + 2 * i * pair_step;
    int16_t* const second = first + pair_step;
    store<Numbers>(row[0] - row[2], first);
    store<Numbers>(row[1] + row[2], first + kWinogradQuads * kQuad);
    store<Numbers>(row[2] - row[1], second);
    store<Numbers>(row[1] - row[3], second + kWinogradQuads * kQuad);
  }
}

BERTH_TARGET void see_tile(const uint8_t* const (&pixels)[kWinogradPositions], int64_t channels, uint32_t flip,
                           int64_t pair_step, int16_t* to) {
  const __m128i flips = _mm_set1_epi32(static_cast<int32_t>(flip));
  int64_t channel = 0;
  for (; channel + 16 <= channels; channel += 16) {
    Words x[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels[i] + channel));
      x[i] = reinterpret_cast<Words>(_mm256_cvtepu8_epi16(_mm_xor_si128(bytes, flips)));
    }
    turn_input(x, pair_step, to + channel);
  }
  for (; channel < channels; channel += kQuad) {
    FewWords x[16];
    for (int i = 0; i < 16; ++i) {
      int32_t four;
      __builtin_memcpy(&four, pixels[i] + channel, sizeof(four));
      x[i] = reinterpret_cast<FewWords>(_mm_cvtepu8_epi16(_mm_xor_si128(_mm_cvtsi32_si128(four), flips)));
    }
    // What is written behind the last channel is of no use.
    turn_input(x, pair_step, to + channel);
  }
}

// A window's weights, times twice the matrix of weights from both sides.
BERTH_LOCAL void turn_window(const Words (&g)[9], int64_t step, int16_t* to) {
  Words a[12];
#pragma GCC unroll 3
  for (int j = 0; j < 3; ++j) {
    const Words ends = g[j] + g[6 + j];
    a[j] = g[j] + g[j];
    a[3 + j] = ends + g[3 + j];
    a[6 + j] = ends - g[3 + j];
    a[9 + j] = g[6 + j] + g[6 + j];
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i, to += 4 * step) {
    const Words* row = a + 3 * i;
    const Words ends = row[0] + row[2];
    store<Words>(row[0] + row[0], to);
    store<Words>(ends + row[1], to + step);
    store<Words>(ends - row[1], to + 2 * step);
    store<Words>(row[2] + row[2], to + 3 * step);
  }
}

BERTH_TARGET void turn_weight(const int8_t* from, int64_t tap_bytes, int64_t quads, int64_t step, int16_t* to) {
  // The halves of four columns beside each other.
  const __m256i halves =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  for (int64_t quad = 0; quad < quads; ++quad, from += kQuadBytes, to += kQuadBytes) {
    for (int part = 0; part < 2; ++part) {
      Words low[9], high[9];
#pragma GCC unroll 9
      for (int tap = 0; tap < 9; ++tap) {
        const int8_t* const bytes = from + tap * tap_bytes + part * (kQuadBytes / 2);
        const __m256i sorted = _mm256_permute4x64_epi64(
            _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)), halves), 0xD8);
        low[tap] = reinterpret_cast<Words>(_mm256_cvtepi8_epi16(_mm256_castsi256_si128(sorted)));
        high[tap] = reinterpret_cast<Words>(_mm256_cvtepi8_epi16(_mm256_extracti128_si256(sorted, 1)));
      }
      int16_t* const out = to + part * (kQuadBytes / 4);
      turn_window(low, step, out);
      turn_window(high, step, out + kQuadBytes / 2);
    }
  }
}

// Four times what pixels of a result are, by two.
BERTH_LOCAL void put_pixel(Sums sum, int32_t* to) { store<SignedSums>(reinterpret_cast<SignedSums>(sum) >> 2, to); }

BERTH_TARGET void end_tile(const int32_t* sums, int64_t step, int64_t columns, int32_t* to, int64_t line) {
  for (int64_t column = 0; column < columns; column += 8, sums += 8, to += 8) {
    Sums a[8];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      Sums m[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) __builtin_memcpy(&m[i], sums + (4 * i + j) * step, sizeof(Sums));
      a[j] = m[0] + m[1] + m[2];
      a[4 + j] = m[1] - m[2] - m[3];
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const Sums* row = a + 4 * i;
      put_pixel(row[0] + row[1] + row[2], to + i * line);
      put_pixel(row[1] - row[2] - row[3], to + i * line + columns);
    }
  }
}

}  // namespace

const QuantizedWinogradWords kWinogradAvx2 = {see_tile, turn_weight, end_tile};

}  // namespace berth::cpu
#endif
