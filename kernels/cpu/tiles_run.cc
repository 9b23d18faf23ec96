// The tiles themselves, once for each instruction set.
#include <algorithm>

#include "kernels/cpu/tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/tiles_run.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/tiles_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// What a place of the result sees: its image, and where its window begins, perhaps outside.
struct Window {
  const float* image;
  int64_t y, x;
};

// Places of the result one after another, without a division each.
class Cursor {
 public:
  Cursor(const TileJob& job, int64_t place)
      : job_(job),
        x_(place % job.out[1]),
        y_(place / job.out[1] % job.out[0]),
        image_(job.input + place / job.out[1] / job.out[0] * image_size()) {}

  Window window() const {
    return {image_, y_ * job_.stride[0] - job_.padding[0], x_ * job_.stride[1] - job_.padding[1]};
  }
  void next() {
    if (++x_ < job_.out[1]) return;
    x_ = 0;
    if (++y_ < job_.out[0]) return;
    y_ = 0;
    image_ += image_size();
  }

 private:
  int64_t image_size() const { return job_.in[0] * job_.in[1] * job_.in_channels(); }

  const TileJob& job_;
  int64_t x_, y_;
  const float* image_;
};

// One panel of one group.
struct Panel {
  const float* weight;
  int64_t channel;  // the group's first of the input
  Columns columns;
};

bool inside(int64_t place, int64_t size) { return static_cast<uint64_t>(place) < static_cast<uint64_t>(size); }

template <int kRows, int kVectors>
HWY_INLINE void add_run(FloatVector (&sum)[kRows][kVectors], const float* const (&a)[kRows], const float* b,
                        int64_t depth) {
  const FloatTag d;
  for (int64_t k = 0; k < depth; ++k, b += kVectors * kLanes) {
    FloatVector row[kVectors];
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, b + v * kLanes);
    BERTH_UNROLL_FULL
    for (int i = 0; i < kRows; ++i) {
      const FloatVector x = hn::Set(d, a[i][k]);
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(x, row[v], sum[i][v]);
    }
  }
}

template <int kRows, int kVectors>
HWY_INLINE void clear(FloatVector (&sum)[kRows][kVectors]) {
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(FloatTag());
  }
}

template <int kRows, int kVectors>
HWY_INLINE void finish_tile(const TileJob& job, const Panel& panel, int64_t place,
                            const FloatVector (&sum)[kRows][kVectors]) {
  float* out = job.out_data + place * job.out_channels();
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i, out += job.out_channels()) finish_row<kVectors>(job, panel.columns, sum[i], out);
}

// Each place sees the one in its own place, and nothing else.
template <int kRows, int kVectors>
HWY_NOINLINE void plain_tile(const TileJob& job, const Panel& panel, int64_t place) {
  FloatVector sum[kRows][kVectors];
  clear(sum);
  const float* a[kRows];
  for (int i = 0; i < kRows; ++i) a[i] = job.input + (place + i) * job.in_channels() + panel.channel;
  add_run<kRows, kVectors>(sum, a, panel.weight, job.depth);
  finish_tile(job, panel, place, sum);
}

template <int kRows, int kVectors>
HWY_NOINLINE void window_tile(const TileJob& job, const Panel& panel, int64_t place, Cursor& cursor) {
  FloatVector sum[kRows][kVectors];
  clear(sum);
  Window window[kRows];
  // Taps side by side read elements side by side, unless some lie outside.
  bool whole = job.dilation[1] == 1 && job.groups == 1;
  for (int i = 0; i < kRows; ++i, cursor.next()) {
    window[i] = cursor.window();
    whole = whole && window[i].x >= 0 && window[i].x + job.kernel[1] <= job.in[1];
  }
  const int64_t channels = job.in_channels();
  const int64_t runs = whole ? 1 : job.kernel[1];
  const int64_t run = whole ? job.kernel[1] * job.depth : job.depth;
  const float* b = panel.weight;
  for (int64_t ky = 0; ky < job.kernel[0]; ++ky) {
    for (int64_t kx = 0; kx < runs; ++kx, b += run * kVectors * kLanes) {
      const float* a[kRows];
      bool any = false;
      for (int i = 0; i < kRows; ++i) {
        const int64_t y = window[i].y + ky * job.dilation[0];
        const int64_t x = window[i].x + kx * job.dilation[1];
        const bool seen = inside(y, job.in[0]) && inside(x, job.in[1]);
        any = any || seen;
        a[i] = seen ? window[i].image + (y * job.in[1] + x) * channels + panel.channel : job.zeros;
      }
      if (any) add_run<kRows, kVectors>(sum, a, b, run);
    }
  }
  finish_tile(job, panel, place, sum);
}

template <int kRows, int kVectors>
HWY_INLINE void tile(const TileJob& job, const Panel& panel, int64_t place, Cursor& cursor) {
  if (job.is_plain()) return plain_tile<kRows, kVectors>(job, panel, place);
  window_tile<kRows, kVectors>(job, panel, place, cursor);
}

template <int kVectors>
void run_rows(const TileJob& job, const Panel& panel, int64_t begin, int64_t end) {
  // Tiles of about the same height.
  const int64_t tiles = (end - begin + kTileRows - 1) / kTileRows;
  const int64_t height = (end - begin) / tiles;
  const int64_t higher = (end - begin) % tiles;
  Cursor cursor(job, begin);
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t rows = height + (t < higher ? 1 : 0);
    switch (rows) {
      case 1: tile<1, kVectors>(job, panel, begin, cursor); break;
      case 2: tile<2, kVectors>(job, panel, begin, cursor); break;
      case 3: tile<3, kVectors>(job, panel, begin, cursor); break;
      case 4: tile<4, kVectors>(job, panel, begin, cursor); break;
      case 5: tile<5, kVectors>(job, panel, begin, cursor); break;
      default: tile<6, kVectors>(job, panel, begin, cursor); break;
    }
    begin += rows;
  }
}

void run(const TileJob& job, int64_t index, int64_t begin, int64_t end) {
  const int64_t group = index / job.panels;
  const int64_t first = index % job.panels * job.panel_columns;
  Panel panel;
  panel.weight = job.weight + index * job.panel_columns * job.depth * job.taps();
  panel.channel = group * job.depth;
  panel.columns = {group * job.columns + first, std::min(job.panel_columns, job.columns - first)};
  const int64_t vectors = job.panel_columns / kLanes;
  if (vectors == 1) return run_rows<1>(job, panel, begin, end);
  if (vectors == 2) return run_rows<2>(job, panel, begin, end);
#if HWY_TARGET == HWY_AVX3
  if (vectors == 3) return run_rows<3>(job, panel, begin, end);
  return run_rows<4>(job, panel, begin, end);
#endif
}

TileFunctions functions() { return {kLanes, kTileColumns, run}; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(functions);

TileFunctions tile_functions() { return HWY_DYNAMIC_DISPATCH(functions)(); }

}  // namespace berth::cpu
#endif
