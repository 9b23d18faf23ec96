// The inner two dimensions of a strided copy, on one thread (see copy_strided.h for the ways).
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::portable {

/// `rows` × `columns` elements; all strides in bytes.
struct CopyBlock {
  int64_t rows;
  int64_t columns;
  int64_t from_row;
  int64_t from_column;
  int64_t to_row;
  int64_t to_column;
};

// In each, `bytes` is the size of an element: 1, 2, 4, 8 or 16.

/// REQUIRES: from_column == to_column == bytes
void copy_rows(const CopyBlock& block, int64_t bytes, const char* from, char* to);

/// REQUIRES: from_column == 0 and to_column == bytes
void copy_fill(const CopyBlock& block, int64_t bytes, const char* from, char* to);

/// REQUIRES: from_row == to_column == bytes
void copy_transpose(const CopyBlock& block, int64_t bytes, const char* from, char* to);

/// REQUIRES: from_row == to_column == bytes, to_row == columns * bytes, 2 <= columns <= 4
void copy_interleave(const CopyBlock& block, int64_t bytes, const char* from, char* to);

/// Any strides.
void copy_elements(const CopyBlock& block, int64_t bytes, const char* from, char* to);

/// Stores the element at `value` to `count` places one after the other.
void fill_elements(int64_t count, int64_t bytes, const void* value, char* to);

}  // namespace berth::portable
