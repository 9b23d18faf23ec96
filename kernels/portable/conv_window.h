// A window that slides over a plane of f32: what a depthwise convolution and a pooling have in common.
//
// Per tile, the plane is copied to scratch memory with its padding, and taken apart so that what a stride skips is out
// of the way: element (y, x) goes to sub-plane (y mod stride, x mod stride). Then each tap of the window is the whole
// tile read at one fixed offset,
//
//   result[i] = combine over taps t of tile[i + offset[t]]        for all i = y * pitch + x
//
// so one loop over contiguous memory does any kernel size, stride, padding and dilation. The last few of each `pitch`
// results are of no use.
#pragma once

#include <cstdint>

namespace berth::portable {

struct WindowAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
};

class Window {
 public:
  static constexpr int kMaxTaps = 128;
  /// Bound of scratch_floats().
  static constexpr int64_t kMaxScratchFloats = 24 * 1024;

  /// False when the window has too many taps or reaches too far for the scratch memory.
  bool plan(const WindowAxis& height, const WindowAxis& width);

  int taps() const { return taps_; }
  /// Tiles that cover the output plane.
  int64_t tiles() const { return row_tiles_ * column_tiles_; }
  /// Of the loaded tile and the results together.
  int64_t scratch_floats() const { return tile_floats_ + result_floats_; }

  /// The part of the output plane that a tile covers.
  struct Tile {
    int64_t y = 0, x = 0, rows = 0, columns = 0;
  };
  Tile tile(int64_t index) const;

  /// Copies what `tile` sees of a plane, whose rows are `row_stride` elements apart, to `scratch`; outside the plane is
  /// `padding`.
  void load(const Tile& tile, const float* plane, int64_t row_stride, float padding, float* scratch) const;

  /// After load(): sums weighted taps from `start` on, in their order; `weights` has taps() entries, row by row.
  void sum(const Tile& tile, const float* weights, float start, float* scratch) const;
  /// After load(): the largest of the taps; NaN when one of them is.
  void max(const Tile& tile, float* scratch) const;

  /// Row `y` of the results, tile.columns long. REQUIRES: sum() or max() before.
  const float* result_row(const float* scratch, int64_t y) const { return scratch + tile_floats_ + y * pitch_; }

 private:
  // One sub-plane an axis, and the way to it from a tap.
  struct Phases {
    int count = 0;
    int64_t origin[kMaxTaps];  // of a phase: the remainder
    int phase[kMaxTaps];       // of a tap
    int64_t shift[kMaxTaps];   // of a tap: the quotient
    int64_t reach = 0;         // largest shift
  };
  static Phases find_phases(const WindowAxis& axis);

  WindowAxis axis_[2];
  Phases phases_[2];
  int taps_ = 0;
  int64_t tile_rows_ = 0, tile_columns_ = 0;
  int64_t row_tiles_ = 0, column_tiles_ = 0;
  int64_t pitch_ = 0, plane_floats_ = 0;
  int64_t tile_floats_ = 0, result_floats_ = 0;
  int64_t offsets_[kMaxTaps];
};

}  // namespace berth::portable
