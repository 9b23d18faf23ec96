// Rows of the input as integers, so that a processor with instructions for products of bytes need not widen the weight
// at all: AVX-512 VNNI for any rows, AVX2 for a few rows and weights of 4 bits, whose products of two bytes fit into
// 16.
//
// A row is cut where the weight's scales change, and after 256 elements. In such a chunk each element is rounded to a
// whole number of steps, of which the largest has at least 2^22: half a step is less than what f32 itself loses of the
// largest. The number of steps is three digits to the base of 256, from -128 to 127. Sums of products of digits and
// bytes are exact. A result depends on its row alone, not on how many there are.
//
// A layout of two digits allows the first one to be 0: half a step is then at most 2^-15 of the largest element of the
// chunk, where rounding to bf16 loses 2^-9 of each. AVX-512 leaves the products of that digit out; the results are
// those of all three.
#pragma once

#include "kernels/cpu/narrow_linear_run.h"

namespace berth::cpu {

/// Memory for it is the caller's: bytes(), aligned to 64.
class NarrowDigits {
 public:
  static constexpr int64_t kChunk = 256;
  static constexpr int kDigits = 3;
  static constexpr int64_t kMostRows = 64;

  /// What is known of a chunk of one row.
  struct Chunk {
    int32_t start[kDigits];  // of each digit, what its sum has too little: packed weights are not negative
    float total;             // the sum of all elements, in steps
    float step;
  };

  NarrowDigits(const NarrowLayout& layout, int64_t rows, void* memory);
  static size_t bytes(const NarrowLayout& layout, int64_t rows);
  /// As many rows as stay in a second-level cache, at most kMostRows.
  static int64_t most_rows(const NarrowLayout& layout);

  int64_t chunks_of_block() const { return chunks_; }
  int64_t row_bytes() const { return row_bytes_; }
  int64_t row_chunks() const { return all_chunks_; }
  /// Of row `i`, for each four elements four bytes of each digit; zeros behind the last.
  int8_t* digits(int64_t i) const { return digits_ + i * row_bytes_; }
  Chunk* chunks(int64_t i) const { return all_ + i * all_chunks_; }

 private:
  int64_t row_bytes_, chunks_, all_chunks_;
  int8_t* digits_;
  Chunk* all_;
};

/// Whether this processor, or what it is limited to (simd_limit.h), is faster so.
bool has_narrow_digits(int64_t bits, int64_t rows);

/// Row `i` of the digits, of layout.depth elements. False if one is not finite, or so large or small that a step has no
/// exact reciprocal; then the digits are worth nothing. REQUIRES: has_narrow_digits().
bool split_into_digits(const NarrowLayout& layout, const float* input, int64_t i, const NarrowDigits& digits);

/// NarrowFunctions::multiply() on rows [begin, end) of the digits, however many. REQUIRES: has_narrow_digits().
void multiply_digits(const NarrowPacked& packed, int64_t panel, const NarrowDigits& digits, int64_t begin, int64_t end,
                     float* sum);

}  // namespace berth::cpu
