// A few rows of the input as integers, so that a processor with instructions for products of bytes (AVX-512 VNNI) need
// not widen the weight at all.
//
// A row is cut where the weight's scales change, and after 512 elements. In such a chunk each element is rounded to a
// whole number of steps, at most 2^22 of them, which is as fine as f32 is for the largest element; the number of steps
// is three digits to the base of 256, from -128 to 127. Sums of products of digits and bytes are exact.
#pragma once

#include "kernels/cpu/narrow_linear_run.h"

namespace berth::cpu {

/// Memory for it is the caller's: bytes(), aligned to 64.
class NarrowDigits {
 public:
  static constexpr int64_t kChunk = 512;
  static constexpr int kDigits = 3;

  NarrowDigits(const NarrowLayout& layout, void* memory);
  static size_t bytes(const NarrowLayout& layout);

  int64_t chunks_of_block() const { return chunks_; }
  /// Digit `d` of row `i`, an element a byte, with zeros behind the last.
  int8_t* digits(int64_t i, int d) const { return digits_ + (i * kDigits + d) * depth_; }
  /// Of chunk `c` of row `i`: the sums of each digit, and what a step is.
  int32_t* sums(int64_t i, int64_t c) const { return sums_ + (i * all_chunks_ + c) * 4; }
  float& step(int64_t i, int64_t c) const { return steps_[i * all_chunks_ + c]; }

 private:
  int64_t depth_, chunks_, all_chunks_;
  int8_t* digits_;
  int32_t* sums_;
  float* steps_;
};

/// Whether this processor has the instructions, and is not limited to less (simd_limit.h).
bool has_narrow_digits();

/// Rows of layout.depth elements. False if one is not finite, or so large or small that a step has no exact reciprocal;
/// then the digits are worth nothing. REQUIRES: has_narrow_digits(), rows <= kNarrowRows.
bool split_into_digits(const NarrowLayout& layout, const float* input, int64_t rows, const NarrowDigits& digits);

/// NarrowFunctions::multiply() on digits, for whole zero points. REQUIRES: has_narrow_digits().
void multiply_digits(const NarrowPacked& packed, int64_t panel, const NarrowDigits& digits, int64_t rows, float* sum);

}  // namespace berth::cpu
