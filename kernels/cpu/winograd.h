// Convolutions of 3x3 taps, channels innermost, with fewer multiplications: A. Lavin, S. Gray, "Fast Algorithms for
// Convolutional Neural Networks", CVPR 2016. The result is cut into tiles of 2x2 or 4x4 places. What a tile sees, 4x4
// or 6x6 places of the input, is transformed, so is the weight (once, at load), and each of the 16 or 36 positions of
// the transformed tiles is a product of matrices of its own, [tiles, depth] times [depth, columns]. Their results are
// transformed back. Tiles of 2x2 take 4 multiplications a place, tap row and channel pair where 9 are direct, those of
// 4x4 take 2.25.
//
// A thread takes a block of tiles at a time, so few that the transformed input and the products stay in its
// second-level cache, in scratch memory of its own.
//
// How exact it is: sums are of the size of the largest of a tile's inputs and weights, in all places of the tile, and
// so are rounding errors. Measured against double precision on random numbers of 64 to 256 channels, the mean error of
// 2x2 is 0.3 to 0.6 of that of one long direct sum, that of 4x4 1 to 1.7 times, for sums are cut into short runs. The
// points of 4x4 are 0, ±3/4, ±3/2 and infinity: with the usual 0, ±1, ±2 it would be twice as much (B. Barabasz, A.
// Anderson, K. M. Soodhalter, D. Gregg, "Error Analysis and Improving the Accuracy of Winograd Convolution for Deep
// Neural Networks", TOMS 46(4), 2020, is about choosing them).
//
// What is not finite: a result that is not is computed again, directly. So infinities and NaN are where the direct sum
// has them and nowhere else, and a large input or weight does not overflow earlier.
#pragma once

#include <memory>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

/// Places of a tile of the result, each way.
enum class WinogradTile { k2, k4 };

/// A convolution as this engine sees it. Strides are in elements.
struct WinogradJob {
  static constexpr int64_t kKernel = 3;

  int64_t batch = 1;
  int64_t depth = 1, columns = 1;  // channels in and out
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, padding[2] = {0, 0};
  int64_t panels = 1, panel_columns = 0;  // whole registers
  int64_t depth_row = 0;                  // depth, in whole registers
  int64_t tiles[2] = {1, 1};              // of an image, down and across
  int64_t block = 1;                      // the most tiles that a thread takes at a time
  portable::Activation activation;
  bool bounded = true;  // whether the activation is no more than two bounds
  float low = 0, high = 0;
  bool residual = false;
  const float* input = nullptr;
  const float* weight = nullptr;       // [panel][tap][tap][depth][column of the panel]
  const float* transformed = nullptr;  // [panel][position][depth][column of the panel]
  const float* bias = nullptr;
  const float* zeros = nullptr;  // depth_row
  float* out_data = nullptr;

  int64_t all_tiles() const { return batch * tiles[0] * tiles[1]; }
};

/// The functions of one instruction set for tiles of one size.
struct WinogradFunctions {
  int64_t lanes;        // of a register
  int64_t max_columns;  // of a panel
  int64_t tile;         // places each way
  int64_t positions;    // of a transformed tile
  /// Transforms registers [begin, end) of job.weight, counted over one tap of all panels.
  void (*transform_weight)(const WinogradJob& job, int64_t begin, int64_t end, float* transformed);
  /// Tiles [begin, end), counted over the batch, of panels [first, last). REQUIRES: end - begin <= job.block, and
  /// scratch_floats() floats at `scratch`, at a multiple of 64.
  void (*run)(const WinogradJob& job, int64_t begin, int64_t end, int64_t first, int64_t last, float* scratch);

  /// Floats of all tiles' channels at one position: a little more than they are, for positions whose distance is a
  /// power of two would share the same few places of the cache.
  int64_t position_stride(const WinogradJob& job, int64_t row) const { return job.block * row + lanes; }
  int64_t scratch_floats(const WinogradJob& job) const {
    return positions * (position_stride(job, job.depth_row) + position_stride(job, job.panel_columns));
  }
};

/// Those that are best on this processor.
WinogradFunctions winograd_functions(WinogradTile tile);

/// Null for what it does not take: all but convolutions of 3x3 taps side by side, each place of the result seeing the
/// next of the input, of one group, channels last.
std::unique_ptr<EngineKind> winograd_kind(const ConvSpec& spec, int threads, WinogradTile tile);

/// The same with the tile that is faster, but null where it was not measured to be faster than other engines by enough
/// to be worth its memory: where few places share a weight. The transformed weight takes 16/9 or 4 times the memory of
/// the weight itself.
std::unique_ptr<EngineKind> worthwhile_winograd_kind(const ConvSpec& spec, int threads);

}  // namespace berth::cpu
