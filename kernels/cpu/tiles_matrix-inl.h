// Tiles of pairs of bf16 (tiles_narrow.h) where the processor multiplies matrices (matrix_products.h): up to 32 pixels
// of a panel of 16 or 32 columns, their sums in up to four registers of 16 x 16 floats. A row of a register holds 16
// pairs of a pixel's depth, or one pair of 16 columns, which is how panels of pairs lie in memory.
//
// The input has its padding in memory, so that a tap of all pixels of a tile is rows of the same distance:
//   kPlain  as everywhere
//   kRow    pixels side by side in one row of the result
//   kMixed  pixels of several rows, counted along rows as wide as the input's: what lies beyond those of the result is
//           computed and not stored. REQUIRES: a stride of 1.
//
// A result of bf16 is rounded out of the sums as they come from the registers.
//
// Included by tiles_narrow_run.cc alone, for AVX-512.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/math.h"
#include "kernels/cpu/tiles_end-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kMatrixRows = 16;
constexpr int64_t kMatrixPairs = 16;
constexpr int64_t kMatrixTile = 2 * kMatrixRows;  // pixels
// So many registers of the depth before they are needed, weights are asked for.
constexpr int64_t kMatrixAhead = 8;

// The registers: sums of [pixels][columns], the input of the first and of the last pixels, weights of the first and of
// the last columns.
enum MatrixRegister { kSums00, kSums01, kSums10, kSums11, kFirstPixels, kLastPixels, kFirstColumns, kLastColumns };

// The instructions by their names, as in tiles_narrow_run.cc.
template <int kTo>
HWY_INLINE void load_matrix(const float* from, int64_t row_floats) {
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_floats * sizeof(float)), "n"(kTo) : "memory");
}
template <int kFrom>
HWY_INLINE void store_matrix(float* to, int64_t row_floats) {
  __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row_floats * sizeof(float)), "n"(kFrom) : "memory");
}
template <int kSums, int kPixels, int kColumns>
HWY_INLINE void add_product() {
  __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"n"(kSums), "n"(kPixels), "n"(kColumns));
}
HWY_INLINE void release_matrices() { __asm__ volatile("tilerelease"); }

// What the registers hold: set once for many tiles, because it takes long and clears them.
class MatrixShapes {
 public:
  HWY_INLINE void set(int64_t first, int64_t last, int64_t pairs) {
    if (first == first_ && last == last_ && pairs == pairs_) return;
    first_ = first;
    last_ = last;
    pairs_ = pairs;
    alignas(64) Memory memory;
    memory.give(kSums00, first, kMatrixPairs);
    memory.give(kSums01, first, kMatrixPairs);
    memory.give(kSums10, last, kMatrixPairs);
    memory.give(kSums11, last, kMatrixPairs);
    memory.give(kFirstPixels, first, pairs);
    memory.give(kLastPixels, last, pairs);
    memory.give(kFirstColumns, pairs, kMatrixPairs);
    memory.give(kLastColumns, pairs, kMatrixPairs);
    __asm__ volatile("ldtilecfg %0" ::"m"(memory) : "memory");
  }

 private:
  // As the instruction reads it.
  struct Memory {
    uint8_t palette = 1;
    uint8_t unused[15] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};

    void give(int index, int64_t height, int64_t floats) {
      if (height == 0) return;
      rows[index] = static_cast<uint8_t>(height);
      row_bytes[index] = static_cast<uint16_t>(floats * sizeof(float));
    }
  };
  static_assert(sizeof(Memory) == 64);

  int64_t first_ = -1, last_ = -1, pairs_ = -1;
};

// A tile's place: pixels [0, above) and [above, above + below), whose inputs lie `step` floats apart, and what they are
// multiplied with.
struct MatrixTile {
  const float* input;
  int64_t step, above, below;
  const float* weight;
  int64_t columns;  // of the panel
  bool cold;        // the first of its panel: weights come from far
};

// Adds products of `count` registers of each side's depth, `pairs` of it each.
template <bool kTwoRows, bool kTwoColumns>
HWY_INLINE void add_matrices(const MatrixTile& tile, const float* a, const float* b, int64_t count, int64_t pairs) {
  const int64_t step = tile.step, columns = tile.columns;
  const bool cold = tile.cold;
  const float* last = a + kMatrixRows * step;
  for (int64_t i = 0; i < count; ++i) {
    if (cold) {
      for (int64_t row = 0; row < kMatrixPairs; ++row) {
        const float* ahead = b + (kMatrixAhead * kMatrixPairs + row) * columns;
        __builtin_prefetch(ahead, 0, 2);
        if constexpr (kTwoColumns) __builtin_prefetch(ahead + kMatrixPairs, 0, 2);
      }
    }
    load_matrix<kFirstColumns>(b, columns);
    load_matrix<kFirstPixels>(a, step);
    if constexpr (kTwoColumns) load_matrix<kLastColumns>(b + kMatrixPairs, columns);
    if constexpr (kTwoRows) load_matrix<kLastPixels>(last, step);
    add_product<kSums00, kFirstPixels, kFirstColumns>();
    if constexpr (kTwoColumns) add_product<kSums01, kFirstPixels, kLastColumns>();
    if constexpr (kTwoRows) add_product<kSums10, kLastPixels, kFirstColumns>();
    if constexpr (kTwoRows && kTwoColumns) add_product<kSums11, kLastPixels, kLastColumns>();
    a += pairs;
    last += pairs;
    b += pairs * columns;
  }
}

// Sums begin with what lies at `from`, rows of the panel's columns that are `step` floats apart.
template <bool kTwoRows, bool kTwoColumns>
HWY_INLINE void load_matrix_sums(const float* from, int64_t step) {
  load_matrix<kSums00>(from, step);
  if constexpr (kTwoColumns) load_matrix<kSums01>(from + kMatrixPairs, step);
  from += kMatrixRows * step;
  if constexpr (kTwoRows) load_matrix<kSums10>(from, step);
  if constexpr (kTwoRows && kTwoColumns) load_matrix<kSums11>(from + kMatrixPairs, step);
}

template <bool kTwoRows, bool kTwoColumns>
HWY_INLINE void store_matrix_sums(float* to, int64_t step) {
  store_matrix<kSums00>(to, step);
  if constexpr (kTwoColumns) store_matrix<kSums01>(to + kMatrixPairs, step);
  to += kMatrixRows * step;
  if constexpr (kTwoRows) store_matrix<kSums10>(to, step);
  if constexpr (kTwoRows && kTwoColumns) store_matrix<kSums11>(to + kMatrixPairs, step);
}

// How the taps and the depth of a job are divided among registers: runs of elements side by side in the input, of which
// a register takes as many pairs as fit, unless fewer leave no rest.
struct MatrixDepth {
  int64_t runs, run;          // in a row of the window; pairs of each
  int64_t pairs, full, rest;  // of a register; whole ones in a run; pairs of the last

  explicit MatrixDepth(const TileJob& job) {
    // Taps side by side read elements side by side.
    const bool whole = job.dilation[1] == 1 && job.groups == 1;
    runs = whole ? 1 : job.kernel[1];
    run = whole ? job.kernel[1] * job.depth : job.depth;
    pairs = kMatrixPairs;
    const int64_t least = ceil_div(run, kMatrixPairs);
    for (int64_t count = least + 2; count >= least; --count) {
      if (run % count == 0) pairs = run / count;
    }
    full = run / pairs;
    rest = run % pairs;
  }
};

// Rounds a register of floats and stores it as bf16.
HWY_INLINE void store_rounded_at_once(FloatVector x, uint16_t* to) {
  __m256i rounded;
  __asm__("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(x.raw));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), rounded);
}

// A tile's columns, its rows of sums, and where these go: pixel `at`, and so many elements on.
struct MatrixEnd {
  const TileJob& job;
  Columns columns;
  uint16_t* narrow;   // the result, if it is bf16; job.out_data is the residual then, if there is one
  TileJob activated;  // of a result of bf16: its activation, for rows of sums

  void rows(float* sums, int64_t rows, int64_t at) const {
    const int64_t to = at + columns.first;
    narrow == nullptr ? wide_rows(sums, rows, job.out_data + to) : rounded_rows(sums, rows, to);
  }

 private:
  void wide_rows(const float* sums, int64_t rows, float* out) const {
    const FloatTag d;
    const int64_t width = job.panel_columns;
    if (columns.count < width || job.residual) {
      end_stored(job, columns, sums, nullptr, rows, width / kLanes, out);
    } else {
      const FloatVector low = hn::Set(d, job.low), high = hn::Set(d, job.high);
      for (int64_t i = 0; i < rows; ++i, sums += width) {
        float* to = out + i * job.out_pixel;
        for (int64_t c = 0; c < width; c += kLanes) hn::StoreU(within(low, high, hn::Load(d, sums + c)), d, to + c);
      }
    }
    if (!job.bounded) activate_rows(job, columns.count, out, rows);
  }

  void rounded_rows(float* sums, int64_t rows, int64_t to) const {
    const FloatTag d;
    const int64_t width = job.panel_columns;
    const FloatVector low = hn::Set(d, job.low), high = hn::Set(d, job.high);
    if (job.residual) add_residual(sums, rows, job.out_data + to);
    if (!job.bounded) activate_rows(activated, width, sums, rows);
    uint16_t* out = narrow + to;
    for (int64_t i = 0; i < rows; ++i, sums += width, out += job.out_pixel) {
      int64_t c = 0;
      for (; c + kLanes <= columns.count; c += kLanes)
        store_rounded_at_once(within(low, high, hn::Load(d, sums + c)), out + c);
      if (c == columns.count) continue;
      HWY_ALIGN uint16_t last[kLanes];
      store_rounded_at_once(within(low, high, hn::Load(d, sums + c)), last);
      std::memcpy(out + c, last, (columns.count - c) * sizeof(uint16_t));
    }
  }
  void add_residual(float* sums, int64_t rows, const float* residual) const {
    const FloatTag d;
    for (int64_t i = 0; i < rows; ++i, sums += job.panel_columns, residual += job.out_pixel) {
      int64_t c = 0;
      for (; c + kLanes <= columns.count; c += kLanes)
        hn::Store(hn::Add(hn::Load(d, sums + c), hn::LoadU(d, residual + c)), d, sums + c);
      if (c == columns.count) continue;
      hn::Store(hn::Add(hn::Load(d, sums + c), load_part(residual + c, columns.count - c)), d, sums + c);
    }
  }
};

// A tile whose sums lie in memory and are not in the result yet.
struct EndedTile {
  int64_t line = 0, x = 0, rows = 0;
  float* sums = nullptr;
};

// Stores its pixels, from the strip's pixel `x` on.
HWY_NOINLINE void end_matrix_tile(const MatrixEnd& end, const EndedTile& tile) {
  const TileJob& job = end.job;
  int64_t rows = tile.rows;
  float* sums = tile.sums;
  if (rows == 0) return;
  if (job.shape != TileShape::kMixed) {
    const int64_t image = tile.line / job.out[0], y = tile.line % job.out[0];
    return end.rows(sums, rows, image * job.out_image + y * job.out_row + tile.x * job.out_pixel);
  }
  for (int64_t y = tile.x / job.in[1], at = tile.x % job.in[1]; rows > 0; ++y, at = 0) {
    const int64_t seen = std::min(rows, job.in[1] - at);
    const int64_t stored = std::min(seen, job.out[1] - at);
    if (stored > 0) end.rows(sums, stored, tile.line * job.out_image + y * job.out_row + at * job.out_pixel);
    sums += seen * job.panel_columns;
    rows -= seen;
  }
}

// The sums of a tile over all taps. The rest of a depth has registers of another shape, and thus comes after all
// others: changing shapes clears the sums. While the last products are under way, the tile before is ended.
template <bool kTwoRows, bool kTwoColumns>
void sum_matrices(const TileJob& job, const MatrixDepth& depth, const MatrixTile& tile, const float* bias,
                  const MatrixEnd& end, const EndedTile& before, MatrixShapes* shapes, float* sums) {
  const int64_t channels = job.in_channels();
  const auto for_each_run = [&](int64_t from, int64_t count, int64_t taken) {
    for (int64_t ky = 0; ky < job.kernel[0]; ++ky) {
      for (int64_t kx = 0; kx < depth.runs; ++kx) {
        const float* a = tile.input + (ky * job.dilation[0] * job.in[1] + kx * job.dilation[1]) * channels + from;
        const float* b = tile.weight + ky * job.weight_tap[0] + kx * job.weight_tap[1] + from * tile.columns;
        add_matrices<kTwoRows, kTwoColumns>(tile, a, b, count, taken);
      }
    }
  };
  shapes->set(tile.above, tile.below, depth.pairs);
  load_matrix_sums<kTwoRows, kTwoColumns>(bias, 0);
  for_each_run(0, depth.full, depth.pairs);
  if (depth.rest > 0) {
    store_matrix_sums<kTwoRows, kTwoColumns>(sums, tile.columns);
    shapes->set(tile.above, tile.below, depth.rest);
    load_matrix_sums<kTwoRows, kTwoColumns>(sums, tile.columns);
    for_each_run(depth.full * depth.pairs, 1, depth.rest);
  }
  end_matrix_tile(end, before);
  store_matrix_sums<kTwoRows, kTwoColumns>(sums, tile.columns);
}

// PairFunctions::run_rounded, or TileFunctions::run where there is no `out`.
void run_matrix_strips(const TileJob& job, uint16_t* out, int64_t index, int64_t begin, int64_t end) {
  const int64_t group = index / job.panels;
  const int64_t first_column = index % job.panels * job.panel_columns;
  const Columns columns = {group * job.columns + first_column, std::min(job.panel_columns, job.columns - first_column)};
  HWY_ALIGN float bias[kMatrixTile], sums[2][kMatrixTile * kMatrixTile];
  load_bias(job, columns, job.panel_columns / kLanes, bias);
  MatrixEnd tile_end = {job, columns, out, {}};
  tile_end.activated.activation = job.activation;
  tile_end.activated.out_pixel = job.panel_columns;
  const int64_t step = job.in_channels();
  MatrixTile tile = {};
  tile.step = step * job.stride[1];
  tile.weight = job.weight + index * job.weight_panel;
  tile.columns = job.panel_columns;
  const bool two_columns = job.panel_columns > kMatrixPairs;
  const MatrixDepth depth(job);
  EndedTile ended;
  MatrixShapes shapes;
  for (int64_t strip = begin; strip < end; ++strip) {
    const int64_t line = strip / job.strips_per_row, place = strip % job.strips_per_row;
    const int64_t x = job.strip_begin(place), rows = job.strip_begin(place + 1) - x;
    const float* input = job.input + group * job.depth;
    if (job.shape == TileShape::kPlain) {
      input -= job.first_pixel * step;
    } else if (job.shape == TileShape::kRow) {
      const int64_t image = line / job.out[0], y = line % job.out[0];
      input += (image * job.in[0] + y * job.stride[0]) * job.in[1] * step;
    } else {
      input += line * job.in[0] * job.in[1] * step;
    }
    tile.input = input + x * tile.step;
    tile.cold = strip == begin;
    tile.above = std::min(rows, kMatrixRows);
    tile.below = rows - tile.above;
    const auto sum = tile.below > 0 ? (two_columns ? sum_matrices<true, true> : sum_matrices<true, false>)
                                    : (two_columns ? sum_matrices<false, true> : sum_matrices<false, false>);
    float* const own = sums[(strip - begin) % 2];
    sum(job, depth, tile, bias, tile_end, ended, &shapes, own);
    ended = {line, x, rows, own};
  }
  release_matrices();
  end_matrix_tile(tile_end, ended);
}

void run_matrix_panel(const TileJob& job, int64_t index, int64_t begin, int64_t end) {
  run_matrix_strips(job, nullptr, index, begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();
