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

Window window_of(const TileJob& job, int64_t place) {
  const int64_t x = place % job.out[1];
  const int64_t y = place / job.out[1] % job.out[0];
  const int64_t n = place / job.out[1] / job.out[0];
  return {job.input + n * job.in[0] * job.in[1] * job.in_channels(), y * job.stride[0] - job.padding[0],
          x * job.stride[1] - job.padding[1]};
}

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
HWY_NOINLINE void tile(const TileJob& job, const Panel& panel, int64_t place) {
  const FloatTag d;
  FloatVector sum[kRows][kVectors];
  Window window[kRows];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    window[i] = window_of(job, place + i);
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
  }
  const int64_t channels = job.in_channels();
  // Taps side by side read elements side by side, unless some lie outside.
  bool whole = job.dilation[1] == 1 && job.groups == 1;
  for (int i = 0; i < kRows && whole; ++i) whole = window[i].x >= 0 && window[i].x + job.kernel[1] <= job.in[1];
  const int64_t runs = whole ? 1 : job.kernel[1];
  const int64_t run = whole ? job.kernel[1] * job.depth : job.depth;
  const float* b = panel.weight;
  for (int64_t ky = 0; ky < job.kernel[0]; ++ky) {
    for (int64_t kx = 0; kx < runs; ++kx, b += run * kVectors * kLanes) {
      const float* a[kRows];
      bool any = false;
      BERTH_UNROLL_FULL
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
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    finish_row<kVectors>(job, panel.columns, sum[i], job.out_data + (place + i) * job.out_channels());
  }
}

template <int kVectors>
void run_rows(const TileJob& job, const Panel& panel, int64_t begin, int64_t end) {
  // Tiles of about the same height.
  const int64_t tiles = (end - begin + kTileRows - 1) / kTileRows;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t first = begin + (end - begin) * t / tiles;
    switch (begin + (end - begin) * (t + 1) / tiles - first) {
      case 1: tile<1, kVectors>(job, panel, first); break;
      case 2: tile<2, kVectors>(job, panel, first); break;
      case 3: tile<3, kVectors>(job, panel, first); break;
      case 4: tile<4, kVectors>(job, panel, first); break;
      case 5: tile<5, kVectors>(job, panel, first); break;
      default: tile<6, kVectors>(job, panel, first); break;
    }
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

TileFunctions functions() { return {kLanes, kTileColumns, run, nullptr}; }

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
