// How a result is cut into tiles: by a guess of the cycles that each way takes.
#include <algorithm>
#include <limits>

#include "base/math.h"
#include "kernels/cpu/tiles.h"

namespace berth::cpu {
namespace {

// Weights of a panel that stay in a first-level cache.
constexpr int64_t kNearFloats = 8 * 1024;
// What the processor does at best, measured with AVX-512 on Zen 5: two products of registers or two loads in a cycle,
// and a register of weights from the second-level cache in the time of 5.4 products.
constexpr double kFarRegister = 5.4;
// Of a tile, on any processor.
constexpr int64_t kMostVectors = 4;
// Storing a register, and beginning and ending a tile.
constexpr double kStore = 2;
constexpr double kTile = 60;

// Of all positions along an axis, how many of their taps see something.
double seen_taps(const TileJob& job, int axis) {
  int64_t seen = 0;
  for (int64_t tap = 0; tap < job.kernel[axis]; ++tap) {
    const int64_t first = tap * job.dilation[axis] - job.padding[axis];
    const int64_t begin = first >= 0 ? 0 : ceil_div(-first, job.stride[axis]);
    const int64_t end = first >= job.in[axis] ? 0 : (job.in[axis] - 1 - first) / job.stride[axis] + 1;
    seen += std::max<int64_t>(0, std::min(end, job.out[axis]) - begin);
  }
  return static_cast<double>(seen);
}

void cut_columns(const TileFunctions& functions, int64_t vectors, TileJob* job) {
  const int64_t width = ceil_div(job->columns, functions.lanes);
  job->panels = ceil_div(width, vectors);
  job->panel_columns = ceil_div(width, job->panels) * functions.lanes;
}

// In halves of a cycle.
double time_of(const TileFunctions& functions, const TileJob& job) {
  const auto vectors = static_cast<double>(job.panel_columns / functions.lanes);
  const auto strips = static_cast<double>(job.strips());
  const double rows = static_cast<double>(job.pixels()) / strips;
  // Rows of the weight that a strip takes; padding is left out where pixels lie side by side.
  double depth = static_cast<double>(job.taps() * job.depth);
  if (job.shape == TileShape::kRow) {
    depth = seen_taps(job, 0) * seen_taps(job, 1) / static_cast<double>(job.out[0] * job.out[1]) *
            static_cast<double>(job.depth);
  }
  const bool near = job.panel_columns * job.depth * job.taps() <= kNearFloats;
  const double row = std::max({rows * vectors, rows + vectors, functions.under_way, near ? 0 : kFarRegister * vectors});
  return strips * static_cast<double>(job.panels) * (depth * row + kStore * rows * vectors + kTile);
}

// Cuts the panels of `*tried` into strips, and has it replace `*job` where it takes less time than `*best`.
void try_shapes(const TileFunctions& functions, TileJob* tried, double* best, TileJob* job) {
  for (const TileShape shape : {TileShape::kRow, TileShape::kMixed}) {
    if (shape == TileShape::kMixed && tried->strided_output) continue;
    cut_into_strips(functions, tried->is_plain() ? TileShape::kPlain : shape, tried);
    const double time = time_of(functions, *tried);
    // Wider panels read less of the input: something else must be clearly better.
    if (time >= 0.99 * *best) continue;
    *best = time;
    *job = *tried;
  }
}

// Half as many images, rows and columns.
void halve(TileJob* job) {
  job->batch = std::max<int64_t>(1, job->batch / 2);
  for (int i = 0; i < 2; ++i) {
    job->in[i] = std::max<int64_t>(1, job->in[i] / 2);
    job->out[i] = std::max<int64_t>(1, job->out[i] / 2);
  }
}

}  // namespace

void cut_into_strips(const TileFunctions& functions, TileShape shape, TileJob* job) {
  job->shape = shape;
  job->rows = shape == TileShape::kRow ? job->batch * job->out[0] : 1;
  job->row_pixels = job->pixels() / job->rows;
  int64_t highest = functions.max_rows[job->panel_columns / functions.lanes];
  if (shape == TileShape::kMixed) highest = std::min(highest, functions.max_mixed);
  job->strips_per_row = ceil_div(job->row_pixels, highest);
  job->strip_height = ceil_div(job->row_pixels, job->strips_per_row);
  job->tall_strips = job->row_pixels - (job->strip_height - 1) * job->strips_per_row;
  if (job->strip_height <= functions.any_rows) return;
  job->strip_height = align_up<int64_t>(job->strip_height, 2);
  job->tall_strips = job->strips_per_row;
}

void cut_into_tiles(const TileFunctions& functions, TileJob* job) {
  double best = std::numeric_limits<double>::infinity();
  TileJob tried = *job;
  for (int64_t vectors = functions.max_vectors; vectors > 0; --vectors) {
    cut_columns(functions, vectors, &tried);
    try_shapes(functions, &tried, &best, job);
  }
}

void cut_open_into_tiles(const TileFunctions& functions, TileJob* job) {
  // Panels of 1 to max_vectors registers, and how much longer they take than the best, at the largest sizes and at
  // smaller and smaller ones.
  double lost[kMostVectors + 1] = {};
  const int64_t most = std::clamp<int64_t>(functions.max_vectors, 1, kMostVectors);
  for (TileJob sizes = *job;; halve(&sizes)) {
    double time[kMostVectors + 1] = {};
    for (int64_t vectors = 1; vectors <= most; ++vectors) {
      TileJob tried = sizes, cut = sizes;
      cut_columns(functions, vectors, &tried);
      time[vectors] = std::numeric_limits<double>::infinity();
      try_shapes(functions, &tried, &time[vectors], &cut);
    }
    const double best = *std::min_element(time + 1, time + most + 1);
    for (int64_t vectors = 1; vectors <= most; ++vectors) lost[vectors] += time[vectors] / best;
    if (sizes.pixels() == 1) break;
  }
  int64_t chosen = most;
  for (int64_t vectors = most; vectors > 0; --vectors) {
    // Wider panels read less of the input.
    if (lost[vectors] < 0.99 * lost[chosen]) chosen = vectors;
  }
  cut_columns(functions, chosen, job);
  cut_panels_into_tiles(functions, job);
}

void cut_panels_into_tiles(const TileFunctions& functions, TileJob* job) {
  double best = std::numeric_limits<double>::infinity();
  TileJob tried = *job;
  try_shapes(functions, &tried, &best, job);
}

}  // namespace berth::cpu
