// How a product of pairs of bf16 (tiles_narrow.h) is divided: among panels and strips, and how its rounded input lies
// in temporary memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/math.h"
#include "kernels/cpu/tiles_narrow.h"

namespace berth::cpu {

/// Fewer multiplications than this in all are done before another thread has woken.
constexpr double kPairSerialWork = 1 << 19;
/// Pixels that a thread takes at a time: of pairs, and of matrices, which read a weight in less time.
constexpr int64_t kPairPixels = 48;
constexpr int64_t kPairMatrixPixels = 128;

/// A convolution of pairs, and where its input lies before it is one of pairs.
struct PairJob {
  TileJob tiles;      // depth in pairs; of products each pixel's input lies in its own place
  int64_t depth = 1;  // in elements
  // Of products: the pixel of the result at [y, x] reads that of the input at [y * stride, x * stride].
  bool product = false;
  bool matrix = false;                            // the rounded input of a window has its padding in memory
  bool narrow_input = false, narrow_out = false;  // they are bf16
  int64_t in[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {0, 0};

  void set_sizes(const ConvSpec& spec) {
    tiles.batch = spec.batch;
    for (int i = 0; i < 2; ++i) {
      in[i] = spec.in[i];
      tiles.out[i] = spec.out[i];
    }
  }
  void set_matrix(bool is) {
    matrix = is;
    const bool padded = matrix && !product;
    for (int i = 0; i < 2; ++i) {
      tiles.in[i] = product ? tiles.out[i] : padded ? seen(i, tiles.out[i]) : in[i];
      tiles.padding[i] = padded || product ? 0 : padding[i];
    }
  }

  /// How far the windows of `count` pixels of the result reach along axis `i`.
  int64_t seen(int i, int64_t count) const {
    return (count - 1) * tiles.stride[i] + (tiles.kernel[i] - 1) * tiles.dilation[i] + 1;
  }
  /// Whether the input is pairs already, where they are multiplied.
  bool is_in_place() const {
    const bool in_order = product ? stride[0] == 1 && stride[1] == 1 : !matrix;
    return narrow_input && depth % 2 == 0 && in_order;
  }
  int64_t weight_pairs() const { return tiles.groups * tiles.panels * tiles.weight_panel; }
  int64_t in_pixels() const { return product ? tiles.pixels() : tiles.batch * tiles.in[0] * tiles.in[1]; }
  int64_t pixel_pairs() const { return tiles.in_channels(); }
};

/// Multiplications, and what reading the weight takes as such.
double pair_work(const TileJob& job);

/// Of [group][column][depth][tap][tap] into [group][panel][tap][tap][pair][column][depth of the pair].
WeightLayout pair_layout(const PairJob& job, int64_t column_from, int64_t depth_from);

/// Strips that are taken at a time with all weights.
int64_t strips_at_once(const PairJob& job, int threads);

/// How the rounded input lies in temporary memory: whole, or a block for each slot. One that is read in place takes
/// none.
struct RoundedInput {
  int slots = 0;       // 0: whole
  int64_t block = 0;   // strips of a product, rows of the result of a window
  int64_t floats = 0;  // of a slot, or in all

  RoundedInput(const PairJob& job, int threads);
  /// In no more than `most` floats, which are enough for more pixels. False if they are not.
  bool fit(const PairJob& job, int threads, int64_t most);
  int64_t blocks(const PairJob& job) const {
    const TileJob& t = job.tiles;
    return job.product ? ceil_div(t.strips(), block) : t.batch * ceil_div(t.out[0], block);
  }
  int64_t all() const { return floats * std::max(slots, 1); }
  size_t bytes() const { return all() * sizeof(float); }

 private:
  static int64_t whole(const PairJob& job) { return job.is_in_place() ? 0 : job.in_pixels() * job.pixel_pairs(); }
  void set_block(const PairJob& job, int threads, int64_t count);
};

/// The functions for a number of pixels, and how they cut a job.
class PairCutter {
 public:
  int64_t lanes() const { return pairs_.tiles.lanes; }
  const PairFunctions& functions(const PairJob& job) const { return job.matrix ? matrices_ : pairs_; }
  bool prefers_matrices(PairJob job) const;

  /// Panels, and with them the order of the weight. REQUIRES: job->set_matrix() was called.
  void cut_panels(bool open, PairJob* job) const;
  /// The same where the panels stay as they are.
  void cut_strips(PairJob* job) const;

 private:
  void cut_for_matrices(TileJob* job) const;

  PairFunctions pairs_ = pair_functions(), matrices_ = matrix_functions();
};

}  // namespace berth::cpu
