// How rows of a product are cut into tiles for a QuantizedMatrix: some lines of as many pixels each, a line into tiles
// of the same height, the last of which begin before their neighbour ends where they must.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/math.h"
#include "kernels/cpu/quantized_matrix.h"

namespace berth::cpu {

class MatrixRows {
 public:
  /// REQUIRES: lines > 0, pixels > 0
  MatrixRows(int64_t lines, int64_t pixels)
      : pixels_(pixels),
        tiles_(ceil_div(pixels, kMatrixRows)),
        height_(ceil_div(pixels, tiles_)),
        count_(lines * tiles_) {}

  int64_t count() const { return count_; }
  int64_t height() const { return height_; }
  int64_t line_of(int64_t tile) const { return tile / tiles_; }
  /// The first pixel in its line.
  int64_t pixel_of(int64_t tile) const { return tiles_ == 1 ? 0 : tile % tiles_ * (pixels_ - height_) / (tiles_ - 1); }

  /// The first row, counted over all lines.
  int64_t row_of(int64_t tile) const { return line_of(tile) * pixels_ + pixel_of(tile); }

  /// Panels that are multiplied at a time, of `left`. One where there are so few rows that its weights are read once
  /// then, or once for twice as many: tiles of few rows take less time than it takes to bring the weights.
  int64_t panels_at_once(int64_t left) const {
    const bool one = height_ <= kMatrixRows / 2 ? count_ > 2 : count_ == 3 || count_ == 4;
    return one ? 1 : std::min(left, kMatrixPanels);
  }

 private:
  int64_t pixels_, tiles_, height_, count_;
};

}  // namespace berth::cpu
