#include "kernels/cpu/pair_job.h"

#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {
namespace {

// See tiles.cc.
constexpr double kReading = 4;
// Matrices: columns of a panel, and the fewest pixels that they are worth.
constexpr int64_t kMatrixColumns = 32;
constexpr int64_t kFewPixels = 4;
// Floats of an input with its padding that are few, whatever they are without.
constexpr int64_t kSmallPadded = 1 << 14;
// Floats of a rounded input that stay in a second-level cache until they are multiplied; and the fewest rows of a
// result for which lines that another one reads too are rounded once more.
constexpr int64_t kNearInput = 1 << 18;
constexpr int64_t kFewRows = 8;
// As many cycles as sums wait for a product of matrices, which takes one for each row.
constexpr int64_t kMatrixWait = 52;

// Whether threads take some pixels with all weights, and not some weights with all pixels: where there is more input
// than weight. Only of products, whose pixels are seen once.
bool takes_blocks(const PairJob& job) {
  return job.product && pair_work(job.tiles) >= kPairSerialWork &&
         job.weight_pairs() < job.in_pixels() * job.pixel_pairs();
}

// The same of windows, some rows of the result at a time, where the whole input would leave the cache before it is
// read.
bool takes_bands(const PairJob& job) {
  const int64_t input = job.in_pixels() * job.pixel_pairs();
  return job.matrix && !job.product && input > kNearInput && job.weight_pairs() < input;
}

// Rows of the result whose input stays near, and as many as leave each thread a few bands.
int64_t band_of(const PairJob& job, int threads) {
  const TileJob& t = job.tiles;
  const int64_t lines = kNearInput / (t.in[1] * job.pixel_pairs());
  const int64_t near = (lines - job.seen(0, 1)) / t.stride[0] + 1;
  const int64_t fair = std::max(kFewRows, ceil_div<int64_t>(t.out[0] * t.batch, 4 * threads));
  return std::clamp<int64_t>(near, 1, std::min(fair, t.out[0]));
}

int64_t time_of(const TileJob& job) { return job.strips() * std::max(2 * job.strip_height, kMatrixWait); }

}  // namespace

double pair_work(const TileJob& job) {
  const double weight = static_cast<double>(job.out_channels()) * static_cast<double>(job.depth * job.taps());
  return (static_cast<double>(job.pixels()) + kReading) * weight;
}

WeightLayout pair_layout(const PairJob& job, int64_t column_from, int64_t depth_from) {
  const TileJob& t = job.tiles;
  WeightLayout l;
  const auto add = [&](int64_t size, int64_t from, int64_t stride) {
    l.size[l.dims] = size;
    l.from[l.dims] = from;
    l.stride[l.dims++] = stride;
  };
  // In elements, of which a pair has two.
  if (t.groups > 1) add(t.groups, t.columns * column_from, 2 * t.panels * t.weight_panel);
  l.blocks = 2;
  l.block[0] = t.panel_columns;
  l.block_dim[0] = l.dims;
  add(t.columns, column_from, 2 * t.weight_panel);
  l.block[1] = 2;
  l.block_dim[1] = l.dims;
  add(job.depth, depth_from, 2 * t.panel_columns);
  add(t.kernel[0], t.kernel[1], 2 * t.weight_tap[0]);
  add(t.kernel[1], 1, 2 * t.weight_tap[1]);
  return l;
}

int64_t strips_at_once(const PairJob& job, int threads) {
  const int64_t strips = job.tiles.strips();
  if (!job.matrix) return std::clamp<int64_t>(kPairPixels * strips / job.tiles.pixels(), 1, strips);
  const int64_t most = kPairMatrixPixels / job.tiles.strip_height;
  return std::clamp<int64_t>(strips / (4 * threads), 1, std::max<int64_t>(most, 1));
}

RoundedInput::RoundedInput(const PairJob& job, int threads) {
  floats = whole(job);
  if (takes_blocks(job)) set_block(job, threads, strips_at_once(job, threads));
  if (takes_bands(job)) set_block(job, threads, band_of(job, threads));
}

bool RoundedInput::fit(const PairJob& job, int threads, int64_t most) {
  if (!job.product && !job.matrix) return all() <= most;
  const auto whole_block = job.product ? strips_at_once : band_of;
  if (all() > most) set_block(job, threads, slots == 0 ? whole_block(job, threads) : block);
  while (all() > most && block > 1) set_block(job, threads, block / 2);
  return all() <= most;
}

void RoundedInput::set_block(const PairJob& job, int threads, int64_t count) {
  const TileJob& t = job.tiles;
  block = count;
  const int64_t pixels = job.product ? block * t.strip_height : job.seen(0, block) * t.in[1];
  floats = job.is_in_place() ? 0 : align_up<int64_t>(pixels * job.pixel_pairs(), 16);
  slots = portable::slots_for(threads, blocks(job), pair_work(t), kPairSerialWork);
}

bool PairCutter::prefers_matrices(PairJob job) const {
  if (matrices_.tiles.lanes == 0 || job.tiles.pixels() < kFewPixels) return false;
  const int64_t input = job.tiles.batch * job.in[0] * job.in[1];
  job.set_matrix(true);
  // Wide windows of a dilation have more padding than input.
  return job.in_pixels() <= 2 * input || job.in_pixels() * job.pixel_pairs() <= kSmallPadded;
}

void PairCutter::cut_panels(bool open, PairJob* job) const {
  TileJob& t = job->tiles;
  if (matrices_.tiles.lanes == 0) {
    open ? cut_open_into_tiles(pairs_.tiles, &t) : cut_into_tiles(pairs_.tiles, &t);
  } else {
    // The same for all numbers of pixels: methods that take one and many share a weight.
    t.panel_columns = t.columns > kMatrixColumns / 2 ? kMatrixColumns : kMatrixColumns / 2;
    t.panels = ceil_div(t.columns, t.panel_columns);
    cut_strips(job);
  }
  set_strides(&t);
}

void PairCutter::cut_strips(PairJob* job) const {
  job->matrix ? cut_for_matrices(&job->tiles) : cut_panels_into_tiles(pairs_.tiles, &job->tiles);
  set_strides(&job->tiles);
}

void PairCutter::cut_for_matrices(TileJob* job) const {
  if (job->is_plain()) return cut_into_strips(matrices_.tiles, TileShape::kPlain, job);
  cut_into_strips(matrices_.tiles, TileShape::kRow, job);
  if (job->stride[0] != 1 || job->stride[1] != 1) return;
  TileJob mixed = *job;
  mixed.shape = TileShape::kMixed;
  mixed.rows = job->batch;
  mixed.row_pixels = (job->out[0] - 1) * job->in[1] + job->out[1];
  mixed.strips_per_row = ceil_div(mixed.row_pixels, kMatrixColumns);
  mixed.strip_height = ceil_div(mixed.row_pixels, mixed.strips_per_row);
  mixed.tall_strips = mixed.row_pixels - (mixed.strip_height - 1) * mixed.strips_per_row;
  if (time_of(mixed) < time_of(*job)) *job = mixed;
}

}  // namespace berth::cpu
