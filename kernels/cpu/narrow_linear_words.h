// Many rows of the input as whole numbers of 16 bits, for weights that allow two digits (narrow_linear_digits.h): a
// panel of the weight is widened to 16 bits in the cache, for all rows that come by, and AVX-512 VNNI multiplies pairs
// of such numbers. An element has the number of steps of its two digits, and sums are made in the order of theirs, so
// the result has the same bits, whatever the number of rows.
#pragma once

#include "kernels/cpu/narrow_linear_run.h"

namespace berth::cpu {

/// Memory for it is the caller's: bytes(), aligned to 64.
class NarrowWords {
 public:
  /// What is known of a chunk of one row: that of NarrowDigits.
  struct Chunk {
    float total;  // the sum of all elements, in steps
    float step;
  };

  /// What a thread has for itself: a panel of the weight, some rows at a time, and the sums of some rows of the input.
  struct Scratch {
    explicit Scratch(void* memory);
    int16_t* wide;
    float* sum;
  };

  NarrowWords(const NarrowLayout& layout, int64_t rows, void* memory);
  /// Whether the layout allows them, and the rows are enough to widen a panel for.
  static bool take(const NarrowLayout& layout, int64_t rows);
  static size_t bytes(const NarrowLayout& layout, int64_t rows);
  /// As many rows as a panel of the weight is widened for: more are read from farther away.
  static int64_t most_rows(const NarrowLayout& layout);
  /// Bytes of a Scratch for so many rows.
  static size_t scratch_bytes(int64_t rows);

  int64_t chunks_of_block() const { return chunks_; }
  int64_t row_words() const { return row_words_; }
  int64_t row_chunks() const { return all_chunks_; }
  /// Of row `i`: its elements, and a zero behind an odd number of them.
  int16_t* words(int64_t i) const { return words_ + i * row_words_; }
  Chunk* chunks(int64_t i) const { return all_ + i * all_chunks_; }

 private:
  int64_t row_words_, chunks_, all_chunks_;
  int16_t* words_;
  Chunk* all_;
};

/// Whether this processor, or what it is limited to (simd_limit.h), is faster so.
bool has_narrow_words(const NarrowLayout& layout, int64_t rows);

/// Row `i` of the words. As split_into_digits(). REQUIRES: has_narrow_words().
bool split_into_words(const NarrowLayout& layout, const float* input, int64_t i, const NarrowWords& words);

/// scratch.sum[i * 64 + j] = the product of row begin + i of the words, up to row end - 1, and column j of the panel.
/// REQUIRES: has_narrow_words(); the scratch is of so many rows.
void multiply_words(const NarrowPacked& packed, int64_t panel, const NarrowWords& words, int64_t begin, int64_t end,
                    const NarrowWords::Scratch& scratch);

}  // namespace berth::cpu
