// Channels-last convolutions of 3x3 taps with fewer multiplications: A. Lavin, S. Gray, "Fast Algorithms for
// Convolutional Neural Networks", CVPR 2016. The result is divided into tiles of 2x2 or 4x4 pixels. The input of a
// tile, 4x4 or 6x6 pixels, is transformed, and so is the weight (once, in the compiler). Each of the 16 or 36 positions
// of the transformed tiles is a separate matrix product, [tiles, depth] times [depth, columns], whose result is
// transformed back. For each pixel and pair of channels, tiles of 2x2 need 4 multiplications and those of 4x4 need
// 2.25, instead of 9.
//
// A thread processes blocks of tiles in its own scratch memory, small enough that the transformed input and the
// products stay in its second-level cache.
//
// Accuracy: the sums for all pixels of a tile, and their rounding errors, scale with the tile's largest inputs and
// weights. Measured against double precision on random numbers of 64 to 256 channels, the mean error of 2x2 is 0.3 to
// 0.6 of that of one long direct sum, that of 4x4 1 to 1.7 times, because sums are split into short runs. The points of
// 4x4 are 0, ±3/4, ±3/2 and infinity: with the usual 0, ±1, ±2 the error would be twice as large (B. Barabasz, A.
// Anderson, K. M. Soodhalter, D. Gregg, "Error Analysis and Improving the Accuracy of Winograd Convolution for Deep
// Neural Networks", TOMS 46(4), 2020, is about choosing them).
//
// Results that are not finite are computed again, directly. So infinities and NaN are exactly where the direct sum has
// them, and large inputs or weights do not overflow earlier.
#pragma once

#include <memory>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

/// The width and height of a tile of the result, in pixels.
enum class WinogradTile { k2, k4 };

/// A convolution. Strides are in elements.
struct WinogradJob {
  static constexpr int64_t kKernel = 3;

  int64_t batch = 1;
  int64_t depth = 1, columns = 1;  // channels in and out
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, padding[2] = {0, 0};
  int64_t panels = 1, panel_columns = 0;  // whole registers
  int64_t depth_row = 0;                  // depth, in whole registers
  int64_t tiles[2] = {1, 1};              // of an image, down and across
  int64_t block = 1;                      // the most tiles of a thread's block
  portable::Activation activation;
  bool bounded = true;  // the activation only clamps
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
  int64_t tile;         // width and height, in pixels
  int64_t positions;    // of a transformed tile
  /// Transforms registers [begin, end) of job.weight, counted over one tap of all panels.
  void (*transform_weight)(const WinogradJob& job, int64_t begin, int64_t end, float* transformed);
  /// Tiles [begin, end), counted over the batch, of panels [first, last). REQUIRES: end - begin <= job.block, and
  /// scratch_floats() floats at `scratch`, at a multiple of 64.
  void (*run)(const WinogradJob& job, int64_t begin, int64_t end, int64_t first, int64_t last, float* scratch);

  /// The distance in floats between positions: a little more than their size, because positions at a distance of a
  /// power of two would map to the same few cache sets.
  int64_t position_stride(const WinogradJob& job, int64_t row) const { return job.block * row + lanes; }
  int64_t scratch_floats(const WinogradJob& job) const {
    return positions * (position_stride(job, job.depth_row) + position_stride(job, job.panel_columns));
  }
};

/// The best functions for this processor.
WinogradFunctions winograd_functions(WinogradTile tile);

/// Null unless it is a channels-last convolution of one group with 3x3 taps, stride 1 and dilation 1.
std::unique_ptr<EngineKind> winograd_kind(const ConvSpec& spec, int threads, WinogradTile tile);

/// The same with the faster tile, but null if it is not faster than other engines by enough to justify its memory: if
/// few pixels share a weight; of open sizes, calls of few pixels are then computed directly. The transformed weight
/// takes 16/9 or 4 times the memory of the weight itself.
std::unique_ptr<EngineKind> worthwhile_winograd_kind(const ConvSpec& spec, int threads);

}  // namespace berth::cpu
