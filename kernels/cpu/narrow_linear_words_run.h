// The innermost loops of narrow_linear_words.h.
#pragma once

#include "kernels/cpu/narrow_linear_words.h"

namespace berth::cpu {

/// The first digit of three is left out: a word's step is 2^8 of those of narrow_linear_digits.h.
constexpr int kWordShift = 8;
/// Rows of the input that have their turns together.
constexpr int64_t kWordRows = 6;

/// Some blocks of a panel, or some chunks of one, widened.
struct WordTurn {
  const int16_t* weight;  // for each two rows of the weight, pairs of columns
  NarrowNumbers numbers;
  int64_t width;        // of the panel
  int64_t rows, block;  // of the weight
};

/// Rows of words, from the turn's first element on.
struct WordRows {
  const int16_t* words;
  int64_t row_words;
  const NarrowWords::Chunk* chunk;
  int64_t row_chunks;
};

struct WordFunctions {
  /// x[i] * steps, rounded; returns the sum. Writes `n` words.
  int32_t (*split)(const float* x, int64_t n, float steps, int16_t* to);
  /// `rows` rows of the weight as pairs: to[(k / 2 * width + column) * 2 + k % 2].
  void (*widen)(const uint8_t* weight, int64_t width, int64_t rows, int16_t* to);
  /// Adds the products of `count` rows to out[i * 64 + j].
  void (*add)(const WordTurn& turn, WordRows rows, int64_t count, float* out);
};

/// For weights of 8 or 4 bits. REQUIRES: the processor is an x86 with AVX-512 VNNI.
WordFunctions vnni_word_functions(int64_t bits);

}  // namespace berth::cpu
