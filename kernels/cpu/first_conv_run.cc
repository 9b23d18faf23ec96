// The tiles of convolutions of images of a few channels, once for each instruction set.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/first_conv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/first_conv_run.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/depthwise_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// Elements that a tile at the border sees at most.
constexpr int64_t kPatch = 2048;

// What the first pixel of a tile sees, from the first row of its window that is inside on.
struct Seen {
  const float* data;
  int64_t row_step, run_step;
  int64_t rows;
};

// Stores a tile all of whose columns are there.
template <bool kSwish, int kPixels, int kVectors>
HWY_INLINE void end_tile(const FirstConvJob& job, const SumEnds (&ends)[kVectors],
                         const FloatVector (&sum)[kPixels][kVectors], float* out) {
  SumEnds own[kVectors];
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) own[v] = {ends[v].bias, ends[v].low, ends[v].high, false, kSwish};
  BERTH_UNROLL_FULL
  for (int i = 0; i < kPixels; ++i, out += job.columns) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) end_sum<false>(own[v], sum[i][v], out + v * kLanes, kLanes);
  }
}

// Stores a tile of a panel whose last columns are not there, from memory: one function for tiles of every width.
template <int kVectors>
HWY_NOINLINE void end_part(const FirstConvJob& job, const Columns& columns, int64_t pixels, const float* sums,
                           float* out) {
  for (int v = 0; v < kVectors; ++v) {
    const Columns own = {columns.first + v * kLanes, columns.count - v * kLanes};
    if (own.count <= 0) return;
    const SumEnds ends = own.count >= kLanes ? ends_of<false>(job, own) : ends_of<true>(job, own);
    for (int64_t i = 0; i < pixels; ++i) {
      const FloatVector sum = hn::LoadU(FloatTag(), sums + (i * kVectors + v) * kLanes);
      float* to = out + i * job.columns + v * kLanes;
      if (own.count >= kLanes) {
        end_sum<false>(ends, sum, to, kLanes);
      } else {
        end_sum<true>(ends, sum, to, own.count);
      }
    }
  }
}

// `count` pixels side by side in a row of the result, of the columns of one panel.
template <int kPixels, int kVectors, int kStep>
HWY_NOINLINE void first_conv_tile(const FirstConvJob& job, const Seen& seen, const float* weight,
                                  const Columns& columns, float* out) {
  const FloatTag d;
  SumEnds ends[kVectors];
  FloatVector sum[kPixels][kVectors];
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) {
    const Columns own = {columns.first + v * kLanes, std::max<int64_t>(0, columns.count - v * kLanes)};
    ends[v] = own.count >= kLanes ? ends_of<false>(job, own) : ends_of<true>(job, own);
    BERTH_UNROLL_FULL
    for (int i = 0; i < kPixels; ++i) sum[i][v] = ends[v].bias;
  }
  for (int64_t y = 0; y < seen.rows; ++y) {
    for (int64_t c = 0; c < job.runs; ++c) {
      const float* a = seen.data + y * seen.row_step + c * seen.run_step;
      for (int64_t k = 0; k < job.run; ++k, ++a, weight += kVectors * kLanes) {
        // So that no compiler keeps what one turn has read in registers for the next: there are none left.
        asm("" : "+r"(a));
        FloatVector w[kVectors];
        BERTH_UNROLL_FULL
        for (int v = 0; v < kVectors; ++v) w[v] = hn::LoadU(d, weight + v * kLanes);
        BERTH_UNROLL_FULL
        for (int i = 0; i < kPixels; ++i) {
          const FloatVector x = hn::Set(d, a[i * kStep]);
          BERTH_UNROLL_FULL
          for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(x, w[v], sum[i][v]);
        }
      }
    }
  }
  if (columns.count >= kVectors * kLanes) {
    if (ends[0].swish) return end_tile<true>(job, ends, sum, out);
    return end_tile<false>(job, ends, sum, out);
  }
  HWY_ALIGN float sums[kPixels * kVectors * kLanes];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kPixels; ++i) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[i][v], d, sums + (i * kVectors + v) * kLanes);
  }
  end_part<kVectors>(job, columns, kPixels, sums, out);
}

using FirstConvTile = void (*)(const FirstConvJob&, const Seen&, const float* weight, const Columns&, float* out);

struct Tile {
  int64_t pixels;
  FirstConvTile run;
};

// Tiles of as many sums as there are registers, and narrower ones for narrow images.
constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3;
constexpr int kSizes = 4;

template <int kVectors, int kStep>
struct Tiles {
  static constexpr int kWide = kManyRegisters  ? (kVectors == 1   ? 28
                                                  : kVectors == 2 ? 14
                                                  : kVectors == 3 ? 9
                                                                  : 6)
                               : kVectors == 1 ? 12
                                               : 6;
  static constexpr int kMiddle = kWide > 8 ? (kWide + 1) / 2 : kWide - 1;
  static constexpr Tile of[kSizes] = {{kWide, first_conv_tile<kWide, kVectors, kStep>},
                                      {kMiddle, first_conv_tile<kMiddle, kVectors, kStep>},
                                      {5, first_conv_tile<5, kVectors, kStep>},
                                      {4, first_conv_tile<4, kVectors, kStep>}};
};

template <int kVectors>
const Tile* tiles_of_step(int64_t step) {
  switch (step) {
    case 1: return Tiles<kVectors, 1>::of;
    case 2: return Tiles<kVectors, 2>::of;
    case 3: return Tiles<kVectors, 3>::of;
    case 6: return Tiles<kVectors, 6>::of;
    default: return nullptr;
  }
}

const Tile* tiles_of(const FirstConvJob& job) {
  const int64_t vectors = job.panel_columns / kLanes;
  if (vectors == 1) return tiles_of_step<1>(job.step());
  if (vectors == 2) return tiles_of_step<2>(job.step());
#if HWY_TARGET == HWY_AVX3
  if (vectors == 3) return tiles_of_step<3>(job.step());
  if (vectors == 4) return tiles_of_step<4>(job.step());
#endif
  return nullptr;
}

// What a tile takes beside its pixels, in pixels.
constexpr int64_t kEmpty = 3;

// The one that computes the fewest pixels twice, and waits the least; null where the row is too narrow for any.
const Tile* best_tile(const FirstConvJob& job) {
  const Tile* best = nullptr;
  int64_t least = 0;
  const Tile* tiles = tiles_of(job);
  for (int i = 0; tiles != nullptr && i < kSizes; ++i) {
    const int64_t pixels = tiles[i].pixels;
    if (pixels > job.out[1]) continue;
    const int64_t cost = (job.out[1] + pixels - 1) / pixels * (pixels + kEmpty);
    if (best != nullptr && cost >= least) continue;
    best = &tiles[i];
    least = cost;
  }
  return best;
}

bool takes(const FirstConvJob& job) {
  const Tile* tile = best_tile(job);
  return tile != nullptr && job.kernel[0] * job.depth * job.span(tile->pixels) <= kPatch;
}

// What a tile sees whose first pixel is `x`, copied to `patch` with zeros where it lies outside.
Seen copy_seen(const FirstConvJob& job, const Seen& row, int64_t x, int64_t pixels, float* patch) {
  const int64_t step = job.column_step, span = job.span(pixels);
  const int64_t first = x * job.stride[1] - job.padding[1];
  const int64_t before = std::clamp<int64_t>(-first, 0, span);
  const int64_t after = std::clamp<int64_t>(first + span - job.in[1], 0, span - before);
  const int64_t inside = span - before - after;
  float* to = patch;
  for (int64_t y = 0; y < row.rows; ++y) {
    for (int64_t c = 0; c < job.runs; ++c) {
      const float* from = row.data + y * row.row_step + c * row.run_step + (first + before) * step;
      to = std::fill_n(to, before * step, 0.0f);
      if (inside > 0) std::memcpy(to, from, (inside * step) * sizeof(float));
      to = std::fill_n(to + inside * step, after * step, 0.0f);
    }
  }
  return {patch, job.runs * span * step, span * step, row.rows};
}

void run_row(const FirstConvJob& job, const Tile& tile, int64_t index) {
  const int64_t y = index % job.out[0] * job.stride[0] - job.padding[0];
  const int64_t skipped = std::clamp<int64_t>(-y, 0, job.kernel[0]);
  const int64_t rows = std::clamp<int64_t>(job.in[0] - y, skipped, job.kernel[0]) - skipped;
  // Of the column that is the image's first.
  const Seen row = {job.input + index / job.out[0] * job.image_step + (y + skipped) * job.row_step, job.row_step,
                    job.run_step, rows};
  const int64_t window_row = job.runs * job.run * job.panel_columns;
  const int64_t width = job.out[1];
  float* out = job.out_data + index * width * job.columns;
  HWY_ALIGN float patch[kPatch];
  for (int64_t x = 0; x < width; x += tile.pixels) {
    // The last tile computes some pixels again.
    x = std::min(x, width - tile.pixels);
    const int64_t first = x * job.stride[1] - job.padding[1];
    const bool inside = first >= 0 && first + job.span(tile.pixels) <= job.in[1];
    Seen seen = row;
    if (inside) {
      seen.data += first * job.column_step;
    } else {
      seen = copy_seen(job, row, x, tile.pixels, patch);
    }
    for (int64_t panel = 0; panel < job.panels; ++panel) {
      const int64_t column = panel * job.panel_columns;
      const Columns columns = {column, std::min(job.panel_columns, job.columns - column)};
      const float* weight = job.weight + (panel * job.kernel[0] + skipped) * window_row;
      tile.run(job, seen, weight, columns, out + x * job.columns + column);
    }
  }
  if (activates_later(job.activation.kind)) activate_stored(job.activation, out, width * job.columns);
}

void run(const FirstConvJob& job, int64_t begin, int64_t end) {
  const Tile& tile = *best_tile(job);
  for (int64_t index = begin; index < end; ++index) run_row(job, tile, index);
}

FirstConvFunctions functions() { return {kLanes, kTileColumns, takes, run}; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(functions);

FirstConvFunctions first_conv_functions() { return HWY_DYNAMIC_DISPATCH(functions)(); }

}  // namespace berth::cpu
#endif
