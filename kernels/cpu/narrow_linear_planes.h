// Rows of the input as digits (narrow_linear_digits.h) for processors that multiply matrices of bytes
// (matrix_products.h): each digit of a row lies in a plane of its own, so that sixteen rows of a digit, 64 elements of
// each, are a register, and so are 64 rows of sixteen columns of the weight. Sums of products are exact and put
// together as those of single rows are: the result has the same bits, whatever the number of rows and the instructions.
#pragma once

#include "kernels/cpu/narrow_linear_digits.h"

namespace berth::cpu {

/// Memory for it is the caller's: bytes(), aligned to 64.
class NarrowPlanes {
 public:
  /// What a thread has for itself: a chunk of a panel as bytes, and the sums of some rows of the input.
  struct Scratch {
    explicit Scratch(void* memory);
    uint8_t* wide;
    float* sum;
  };

  NarrowPlanes(const NarrowLayout& layout, int64_t rows, void* memory);
  /// Whether the rows are enough to fill registers, and blocks long enough to put sums together for.
  static bool take(const NarrowLayout& layout, int64_t rows);
  static size_t bytes(const NarrowLayout& layout, int64_t rows);
  /// As many rows as stay in a cache while panels come by.
  static int64_t most_rows(const NarrowLayout& layout);
  /// Bytes of a Scratch for so many rows.
  static size_t scratch_bytes(int64_t rows);

  int64_t row_bytes() const { return row_bytes_; }
  int64_t row_chunks() const { return all_chunks_; }
  int64_t plane_bytes() const { return plane_bytes_; }
  /// The first plane of row `i`; each chunk is filled up to whole registers.
  int8_t* row(int64_t i) const { return planes_ + i * row_bytes_; }
  NarrowDigits::Chunk* chunks(int64_t i) const { return all_ + i * all_chunks_; }

 private:
  int64_t plane_bytes_, row_bytes_, all_chunks_;
  NarrowDigits::Chunk* all_;
  int8_t* planes_;
};

/// Whether this processor, or what it is limited to (simd_limit.h), is faster so.
bool has_narrow_planes(const NarrowLayout& layout, int64_t rows);

/// Row `i` of the planes. As split_into_digits(). REQUIRES: has_narrow_planes().
bool split_into_planes(const NarrowLayout& layout, const float* input, int64_t i, const NarrowPlanes& planes);

/// scratch.sum[i * 64 + j] = the product of row begin + i of the planes, up to row end - 1, and column j of the panel.
/// REQUIRES: has_narrow_planes(); the scratch is of so many rows.
void multiply_planes(const NarrowPacked& packed, int64_t panel, const NarrowPlanes& planes, int64_t begin, int64_t end,
                     const NarrowPlanes::Scratch& scratch);

}  // namespace berth::cpu
