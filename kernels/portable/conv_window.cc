#include "kernels/portable/conv_window.h"

#include <algorithm>
#include <cstring>

#include "kernels/portable/gemm_tile.h"

namespace berth::portable {
namespace {

// Tiles are at most this wide, and as high as the scratch memory of a first-level cache allows.
constexpr int64_t kTileColumns = 512;
constexpr int64_t kWantedFloats = 10 * 1024;
constexpr int64_t kMaxReach = 4096;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// out[i] = in[i * stride], where in[i] for i outside [0, size) is `padding`; in starts at `first`.
void copy_spaced(const float* in, int64_t first, int64_t size, int64_t stride, float padding, int64_t n, float* out) {
  const int64_t low = std::min(n, first >= 0 ? 0 : ceil_div(-first, stride));
  const int64_t high = std::max(low, first >= size ? 0 : std::min(n, ceil_div(size - first, stride)));
  std::fill(out, out + low, padding);
  if (stride == 1) {
    if (high > low) std::memcpy(out + low, in + first + low, static_cast<size_t>(high - low) * sizeof(float));
  } else if (stride == 2) {
    for (int64_t i = low; i < high; ++i) out[i] = in[first + 2 * i];
  } else {
    for (int64_t i = low; i < high; ++i) out[i] = in[first + stride * i];
  }
  std::fill(out + high, out + n, padding);
}

}  // namespace

Window::Phases Window::find_phases(const WindowAxis& axis) {
  Phases phases;
  for (int64_t tap = 0; tap < axis.kernel; ++tap) {
    const int64_t origin = tap * axis.dilation % axis.stride;
    int phase = 0;
    while (phase < phases.count && phases.origin[phase] != origin) ++phase;
    if (phase == phases.count) phases.origin[phases.count++] = origin;
    phases.phase[tap] = phase;
    phases.shift[tap] = tap * axis.dilation / axis.stride;
    phases.reach = std::max(phases.reach, phases.shift[tap]);
  }
  return phases;
}

bool Window::plan(const WindowAxis& height, const WindowAxis& width) {
  axis_[0] = height;
  axis_[1] = width;
  if (height.kernel > kMaxTaps || width.kernel > kMaxTaps || height.kernel * width.kernel > kMaxTaps) return false;
  taps_ = static_cast<int>(height.kernel * width.kernel);
  for (int i = 0; i < 2; ++i) {
    phases_[i] = find_phases(axis_[i]);
    if (phases_[i].reach > kMaxReach) return false;
  }
  const int64_t planes = phases_[0].count * phases_[1].count;
  tile_columns_ = std::min(width.out, kTileColumns);
  pitch_ = tile_columns_ + phases_[1].reach;
  // (planes * (rows + reach) + rows) * pitch floats
  const int64_t fixed = planes * phases_[0].reach * pitch_;
  tile_rows_ = std::clamp<int64_t>((kWantedFloats - fixed) / ((planes + 1) * pitch_), 1, height.out);
  row_tiles_ = ceil_div(height.out, tile_rows_);
  tile_rows_ = ceil_div(height.out, row_tiles_);
  column_tiles_ = ceil_div(width.out, tile_columns_);
  plane_floats_ = (tile_rows_ + phases_[0].reach) * pitch_;
  // The loops may run over the end by less than a tile of registers.
  tile_floats_ = (planes * plane_floats_ + 2 * kMaxTileColumns - 1) / kMaxTileColumns * kMaxTileColumns;
  result_floats_ = (tile_rows_ * pitch_ + 2 * kMaxTileColumns - 1) / kMaxTileColumns * kMaxTileColumns;
  for (int64_t t = 0; t < taps_; ++t) {
    const int64_t y = t / width.kernel;
    const int64_t x = t % width.kernel;
    offsets_[t] = (phases_[0].phase[y] * phases_[1].count + phases_[1].phase[x]) * plane_floats_ +
                  phases_[0].shift[y] * pitch_ + phases_[1].shift[x];
  }
  return scratch_floats() <= kMaxScratchFloats;
}

Window::Tile Window::tile(int64_t index) const {
  Tile tile;
  tile.y = index / column_tiles_ * tile_rows_;
  tile.x = index % column_tiles_ * tile_columns_;
  tile.rows = std::min(tile_rows_, axis_[0].out - tile.y);
  tile.columns = std::min(tile_columns_, axis_[1].out - tile.x);
  return tile;
}

void Window::load(const Tile& tile, const float* plane, int64_t row_stride, float padding, float* scratch) const {
  for (int py = 0; py < phases_[0].count; ++py) {
    for (int64_t r = 0; r < tile.rows + phases_[0].reach; ++r) {
      const int64_t y = (tile.y + r) * axis_[0].stride + phases_[0].origin[py] - axis_[0].padding;
      const bool inside = y >= 0 && y < axis_[0].in;
      for (int px = 0; px < phases_[1].count; ++px) {
        float* out = scratch + (py * phases_[1].count + px) * plane_floats_ + r * pitch_;
        const int64_t x = tile.x * axis_[1].stride + phases_[1].origin[px] - axis_[1].padding;
        const int64_t size = inside ? axis_[1].in : 0;
        copy_spaced(inside ? plane + y * row_stride : plane, x, size, axis_[1].stride, padding, pitch_, out);
      }
    }
  }
}

void Window::sum(const Tile& tile, const float* weights, float start, float* scratch) const {
  best_tile_set().window_sum(scratch, offsets_, weights, taps_, start, tile.rows * pitch_, scratch + tile_floats_);
}

void Window::max(const Tile& tile, float* scratch) const {
  best_tile_set().window_max(scratch, offsets_, taps_, tile.rows * pitch_, scratch + tile_floats_);
}

}  // namespace berth::portable
