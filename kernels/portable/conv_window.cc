#include "kernels/portable/conv_window.h"

#include <algorithm>
#include <cstring>

#include "base/math.h"
#include "kernels/portable/gemm_tile.h"
#include "kernels/portable/multiversion.h"

namespace berth::portable {
namespace {

// Tiles are at most this wide, and as high as the scratch memory of a first-level cache allows.
constexpr int64_t kTileColumns = 512;
constexpr int64_t kWantedFloats = 10 * 1024;
constexpr int64_t kMaxReach = 4096;

BERTH_MULTIVERSION void copy_every_second(const float* in, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = in[2 * i];
}

// out[i] = in[i * stride]
void copy_spaced(const float* in, int64_t stride, int64_t n, float* out) {
  if (stride == 1) {
    std::memcpy(out, in, n * sizeof(float));
  } else if (stride == 2) {
    copy_every_second(in, n, out);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
  }
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
  const WindowAxis& width = axis_[1];
  for (int px = 0; px < phases_[1].count; ++px) {
    // Element i of a row is column first + i * stride of the plane, which is there for low <= i < high.
    const int64_t first = tile.x * width.stride + phases_[1].origin[px] - width.padding;
    const int64_t low = std::min(pitch_, first >= 0 ? 0 : ceil_div(-first, width.stride));
    const int64_t end = first >= width.in ? 0 : std::min(pitch_, ceil_div(width.in - first, width.stride));
    const int64_t high = std::max(low, end);
    for (int py = 0; py < phases_[0].count; ++py) {
      float* out = scratch + (py * phases_[1].count + px) * plane_floats_;
      int64_t y = tile.y * axis_[0].stride + phases_[0].origin[py] - axis_[0].padding;
      for (int64_t r = 0; r < tile.rows + phases_[0].reach; ++r, y += axis_[0].stride, out += pitch_) {
        if (y < 0 || y >= axis_[0].in) {
          std::fill(out, out + pitch_, padding);
          continue;
        }
        std::fill(out, out + low, padding);
        if (low < high) {
          copy_spaced(plane + y * row_stride + first + low * width.stride, width.stride, high - low, out + low);
        }
        std::fill(out + high, out + pitch_, padding);
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
