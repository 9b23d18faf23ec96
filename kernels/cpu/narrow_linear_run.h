// The innermost loops of berth::narrow_linear, once for each instruction set.
#pragma once

#include "kernels/cpu/packing_narrow.h"

namespace berth::cpu {

/// Scales and zero points, each of one of two types; the other is null. Both are where there are no zero points.
struct NarrowNumbers {
  const float* scales = nullptr;
  const Half* half_scales = nullptr;
  const int8_t* zeros = nullptr;
  const float* real_zeros = nullptr;

  bool has_zeros() const { return zeros != nullptr || real_zeros != nullptr; }
  void advance(int64_t count) {
    if (scales != nullptr) scales += count;
    if (half_scales != nullptr) half_scales += count;
    if (zeros != nullptr) zeros += count;
    if (real_zeros != nullptr) real_zeros += count;
  }
  NarrowNumbers from(int64_t count) const {
    NarrowNumbers rest = *this;
    rest.advance(count);
    return rest;
  }
};

/// A packed weight (packing_narrow.h).
struct NarrowPacked {
  NarrowLayout layout;
  const uint8_t* weight = nullptr;
  NarrowNumbers numbers;

  const uint8_t* panel_weight(int64_t panel) const { return weight + panel * kNarrowPanel * layout.column_bytes(); }
  /// Those of one block of a panel, a number for each column.
  NarrowNumbers block_numbers(int64_t panel, int64_t block) const {
    return numbers.from(panel * kNarrowPanel * layout.blocks + block * layout.width(panel));
  }
};

/// The most rows that are multiplied without widening the weight in memory.
constexpr int64_t kNarrowRows = 4;

struct NarrowFunctions {
  int64_t tile_columns;  // of the panels that the tiles of kernels/cpu/tiles.h read
  /// sum[i * 64 + j] = the product of row i of the input, of which rows lie layout.depth apart, and column j of the
  /// panel. REQUIRES: 1 <= rows <= kNarrowRows.
  void (*multiply)(const NarrowPacked& packed, int64_t panel, const float* input, int64_t rows, float* sum);
  /// Rows [begin, end) of a panel as f32, scaled, in panels of min(tile_columns, width) columns, each of (end - begin)
  /// rows. REQUIRES: begin is a multiple of 8.
  void (*widen)(const NarrowPacked& packed, int64_t panel, int64_t begin, int64_t end, float* to);
};

/// The best functions for this processor.
NarrowFunctions narrow_functions();

}  // namespace berth::cpu
