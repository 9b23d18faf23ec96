// What Winograd's matrices in numbers of 16 bits are applied to, with AVX2, whichever they are (quantized_winograd.h).
//
// Matrices is a structure of functions that apply one to a line of numbers:
//   kTile, kSide, kChannels, kBlock  pixels of the result, and what a tile sees, in a line; channels; tiles
//   input(x, step, y)                kSide numbers, `step` apart, to as many
//   weight(g, y)                     three numbers to kSide
//   output(m, y)                     kSide sums to kTile
//   end(pixel, y, x)                 a pixel's number from its sum
#pragma once

#include "kernels/cpu/quantized_tile.h"
#include "kernels/cpu/quantized_words.h"

#if BERTH_QUANTIZED_AVX2
#include <immintrin.h>

namespace berth::cpu::winograd_words {

#define BERTH_WINOGRAD_TARGET __attribute__((target("avx2")))
#define BERTH_WINOGRAD_LOCAL BERTH_WINOGRAD_TARGET __attribute__((always_inline)) static inline

// Vectors of the compiler's own, for its signs; sums wrap around.
using Words = int16_t __attribute__((vector_size(32)));
using FewWords = int16_t __attribute__((vector_size(16)));
using Sums = uint32_t __attribute__((vector_size(32)));
using SignedSums = int32_t __attribute__((vector_size(32)));

template <typename Numbers>
BERTH_WINOGRAD_LOCAL void store(const Numbers& numbers, void* to) {
  __builtin_memcpy(to, &numbers, sizeof(numbers));
}

// What a tile sees, times the matrix of inputs from both sides.
template <typename Matrices, typename Numbers>
BERTH_WINOGRAD_LOCAL void turn_input(Numbers* x, int64_t row_step, int16_t* to) {
  constexpr int kSide = Matrices::kSide;
  constexpr int64_t kRow = kWordQuads * kQuad / Matrices::kChannels;  // positions of a row
#pragma GCC unroll 6
  for (int j = 0; j < kSide; ++j) {
    Numbers y[kSide];
    Matrices::input(x + j, kSide, y);
#pragma GCC unroll 6
    for (int i = 0; i < kSide; ++i) x[kSide * i + j] = y[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < kSide; ++i) {
    Numbers y[kSide];
    Matrices::input(x + kSide * i, 1, y);
#pragma GCC unroll 6
    for (int j = 0; j < kSide; ++j) {
      const int position = kSide * i + j;
      store<Numbers>(y[j], to + position / kRow * row_step + position % kRow * Matrices::kChannels);
    }
  }
}

template <typename Matrices>
BERTH_WINOGRAD_TARGET void see_tile(const uint8_t* const* pixels, int64_t channels, uint32_t flip, int64_t row_step,
                                    int16_t* to) {
  constexpr int kPositions = Matrices::kSide * Matrices::kSide;
  const __m128i flips = _mm_set1_epi32(static_cast<int32_t>(flip));
  int64_t channel = 0;
  for (; channel + 16 <= channels; channel += 16) {
    Words x[kPositions];
#pragma GCC unroll 36
    for (int i = 0; i < kPositions; ++i) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixels[i] + channel));
      x[i] = reinterpret_cast<Words>(_mm256_cvtepu8_epi16(_mm_xor_si128(bytes, flips)));
    }
    turn_input<Matrices>(x, row_step, to + channel);
  }
  for (; channel < channels; channel += kQuad) {
    FewWords x[kPositions];
    for (int i = 0; i < kPositions; ++i) {
      int32_t four;
      __builtin_memcpy(&four, pixels[i] + channel, sizeof(four));
      x[i] = reinterpret_cast<FewWords>(_mm_cvtepu8_epi16(_mm_xor_si128(_mm_cvtsi32_si128(four), flips)));
    }
    // What is written behind the last channel is of no use.
    turn_input<Matrices>(x, row_step, to + channel);
  }
}

// A row of the positions of some weights: a window's, times the matrix of weights from both sides. What is made of all
// positions would leave the first-level cache before it is used.
template <typename Matrices, int kRow>
BERTH_WINOGRAD_TARGET void turn_weight(const int8_t* from, int64_t quads, int64_t step, int16_t* to) {
  constexpr int kSide = Matrices::kSide;
  constexpr int64_t kNumbers = sizeof(Words) / sizeof(int16_t);
  const int64_t tap = quads * kQuadBytes;
  for (const int16_t* const end = to + tap; to != end; to += kNumbers, from += kNumbers) {
    Words row[3], y[kSide];
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
      Words g[3];
#pragma GCC unroll 3
      for (int i = 0; i < 3; ++i) {
        const auto* const bytes = reinterpret_cast<const __m128i*>(from + (3 * i + j) * tap);
        g[i] = reinterpret_cast<Words>(_mm256_cvtepi8_epi16(_mm_load_si128(bytes)));
      }
      Matrices::weight(g, y);
      row[j] = y[kRow];
    }
    Matrices::weight(row, y);
#pragma GCC unroll 6
    for (int j = 0; j < kSide; ++j) store<Words>(y[j], to + j * step);
  }
}

template <typename Matrices>
BERTH_WINOGRAD_TARGET void end_tile(const int32_t* sums, int64_t step, int64_t columns, int32_t* to, int64_t line) {
  constexpr int kSide = Matrices::kSide, kTile = Matrices::kTile;
  for (int64_t column = 0; column < columns; column += 8, sums += 8, to += 8) {
    Sums x[kTile * kSide];
#pragma GCC unroll 6
    for (int j = 0; j < kSide; ++j) {
      Sums m[kSide], y[kTile];
#pragma GCC unroll 6
      for (int i = 0; i < kSide; ++i) __builtin_memcpy(&m[i], sums + (kSide * i + j) * step, sizeof(Sums));
      Matrices::output(m, y);
#pragma GCC unroll 4
      for (int i = 0; i < kTile; ++i) x[kSide * i + j] = y[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < kTile; ++i) {
      Sums y[kTile];
      Matrices::output(x + kSide * i, y);
#pragma GCC unroll 4
      for (int j = 0; j < kTile; ++j) store<SignedSums>(Matrices::end(y[j], i, j), to + i * line + j * columns);
    }
  }
}

template <typename Matrices>
constexpr QuantizedWinogradWords words_of(decltype(QuantizedWinogradWords::order_weight) order_weight) {
  static_assert(Matrices::kSide == Matrices::kTile + 2 && Matrices::kChannels % 16 == 0);
  static_assert(Matrices::kSide * Matrices::kSide * Matrices::kChannels % (kWordQuads * kQuad) == 0);
  QuantizedWinogradWords words;
  words.tile = Matrices::kTile;
  words.channels = Matrices::kChannels;
  words.block = Matrices::kBlock;
  words.divides_all = Matrices::kDividesAll;
  words.see_tile = see_tile<Matrices>;
  words.order_weight = order_weight;
  words.turn_weight[0] = turn_weight<Matrices, 0>;
  words.turn_weight[1] = turn_weight<Matrices, 1>;
  words.turn_weight[2] = turn_weight<Matrices, 2>;
  words.turn_weight[3] = turn_weight<Matrices, 3>;
  if constexpr (Matrices::kSide == 6) {
    words.turn_weight[4] = turn_weight<Matrices, 4>;
    words.turn_weight[5] = turn_weight<Matrices, 5>;
  }
  words.end_tile = end_tile<Matrices>;
  return words;
}

}  // namespace berth::cpu::winograd_words
#endif
