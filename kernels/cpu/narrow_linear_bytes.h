// Rows of the input as bytes, for weights that allow one digit (narrow_linear_digits.h): what programs have that were
// compiled with `--activations int8`. AVX-512 VNNI multiplies them with the weight as it lies in memory.
//
// A row is cut where the weight's scales change, and after 32 elements. In such a chunk each element is rounded to a
// whole number of steps, to the nearest, ties to even, of which the largest has 127: half a step is a 254th of the
// largest; a chunk below 2^-116 is zeros, and a row with an element that is not finite gives NaN. llama.cpp's Q8_0 and
// OpenVINO's dynamic quantisation round 32 elements so as well. Sums of products are exact within a chunk. A result
// depends on its row alone, not on how many there are.
#pragma once

#include "kernels/cpu/narrow_linear_run.h"

namespace berth::cpu {

/// Memory for it is the caller's: bytes(), aligned to 64.
class NarrowBytes {
 public:
  static constexpr int64_t kChunk = 32;

  /// What is known of a chunk of one row.
  struct Chunk {
    int32_t start;  // what its sum has too little: packed weights are not negative
    float total;    // the sum of all elements, in steps
    float step;
  };

  /// What a thread has for itself: the sums of some rows of the input.
  struct Scratch {
    explicit Scratch(void* memory) : sum(static_cast<float*>(memory)) {}
    float* sum;
  };

  NarrowBytes(const NarrowLayout& layout, int64_t rows, void* memory);
  /// Whether the layout allows them.
  static bool take(const NarrowLayout& layout) { return layout.digits == 1; }
  static size_t bytes(const NarrowLayout& layout, int64_t rows);
  /// As many rows as stay in a third-level cache while panels come by.
  static int64_t most_rows(const NarrowLayout& layout);
  /// Bytes of a Scratch for so many rows.
  static size_t scratch_bytes(int64_t rows) { return rows * kNarrowPanel * sizeof(float); }

  int64_t chunks_of_block() const { return chunks_; }
  int64_t row_bytes() const { return row_bytes_; }
  int64_t row_chunks() const { return all_chunks_; }
  /// Of row `i`: its elements, and zeros behind the last up to a multiple of 16.
  int8_t* row(int64_t i) const { return bytes_ + i * row_bytes_; }
  Chunk* chunks(int64_t i) const { return all_ + i * all_chunks_; }

 private:
  int64_t row_bytes_, chunks_, all_chunks_;
  int8_t* bytes_;
  Chunk* all_;
};

/// Whether the layout allows them, and this processor, or what it is limited to (simd_limit.h), has the instructions.
bool has_narrow_bytes(const NarrowLayout& layout);

/// Row `i` of the bytes. Sums of a row with an element that is not finite are NaN. REQUIRES: has_narrow_bytes().
void split_into_bytes(const NarrowLayout& layout, const float* input, int64_t i, const NarrowBytes& bytes);

/// sum[i * 64 + j] = the product of row begin + i of the bytes, up to row end - 1, and column j of the panel.
/// REQUIRES: has_narrow_bytes().
void multiply_bytes(const NarrowPacked& packed, int64_t panel, const NarrowBytes& bytes, int64_t begin, int64_t end,
                    float* sum);

}  // namespace berth::cpu
