// Berth's own channels-last convolutions: each thread computes some pixels of the result and some of its channels, and
// keeps a tile of both in registers during the loops over the window's taps and the input's channels. Matrix products
// are windows of one tap. There is no patch matrix: the pixels of a tile are usually contiguous, so that their inputs
// for a tap are too; otherwise each has a pointer to its input, or to zeros.
#pragma once

#include <algorithm>
#include <memory>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

/// How the pixels of a tile are arranged: rows of a matrix, contiguous in one row of the result, or neither.
enum class TileShape : uint8_t { kPlain, kRow, kMixed };

/// A convolution. Strides are in elements. A network keeps one for each of its convolutions: flags stand together,
/// where they take no more than their bytes.
struct TileJob {
  int64_t batch = 1, groups = 1;
  int64_t depth = 1, columns = 1;  // channels in and out, of a group
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1};
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  bool strided_output = false;  // pixels of the result are not contiguous
  bool look_ahead = false;      // the next panel is read after this one
  bool residual = false;
  bool bounded = true;  // the activation only clamps to [low, high]
  TileShape shape = TileShape::kMixed;
  float low = 0, high = 0;
  portable::Activation activation;
  int64_t panels = 1, panel_columns = 0;  // of a group
  // The result has `rows` rows of `row_pixels` pixels (or all pixels are one row), each divided into strips: the first
  // `tall_strips` strips of a row have `strip_height` pixels, the others one fewer; or all have strip_height, and the
  // last has the rest. A tile is a strip.
  int64_t row_pixels = 1, rows = 1, strips_per_row = 1;
  int64_t strip_height = 1, tall_strips = 1;
  // Strides in elements: of the weight's taps, vertically and horizontally, and panels, each of which has a row of
  // columns for each channel of its depth; of the result's images, rows and pixels.
  int64_t weight_tap[2] = {0, 0}, weight_panel = 0;
  int64_t out_image = 0, out_row = 0, out_pixel = 0;
  int64_t input_step = 0;  // of TileShape::kPlain: elements from a row of the input to the next; 0: in_channels()
  /// An element of input and weight is a pair of bf16 where the functions are those of bf16, and `depth` counts pairs.
  const float* input = nullptr;
  int64_t first_pixel = 0;        // TileShape::kPlain: that at which `input` begins
  const float* weight = nullptr;  // of f16 where the functions are those of f16
  const float* bias = nullptr;
  const float* zeros = nullptr;  // as many as a row of taps has elements, plus two registers
  float* out_data = nullptr;

  int64_t strips() const { return rows * strips_per_row; }
  /// The first pixel of a strip, within its row.
  int64_t strip_begin(int64_t strip) const {
    return std::min(row_pixels, strip * strip_height - std::max<int64_t>(0, strip - tall_strips));
  }
  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t pixels() const { return batch * out[0] * out[1]; }
  int64_t in_channels() const { return groups * depth; }
  int64_t out_channels() const { return groups * columns; }
  /// Whether each pixel of the result depends only on the pixel of the input at the same position.
  bool is_plain() const {
    return !strided_output && taps() == 1 && stride[0] == 1 && stride[1] == 1 && padding[0] == 0 && padding[1] == 0;
  }
};

/// The functions of one instruction set.
struct TileFunctions {
  int64_t lanes = 0;         // of a register
  int64_t max_vectors = 0;   // of a tile
  int64_t max_rows[5] = {};  // of a tile with so many registers
  int64_t max_mixed = 0;     // rows of a tile of TileShape::kMixed
  int64_t any_rows = 0;      // above this, tiles have even numbers of rows
  /// Strips [begin, end) of panel `panel`, counted over all groups.
  void (*run)(const TileJob& job, int64_t panel, int64_t begin, int64_t end) = nullptr;
  double under_way = 8;  // products of registers that have to be under way so that none waits
};

/// The best functions for this processor.
TileFunctions tile_functions();

/// Divides the result into panels of columns and strips of pixels, to minimise the estimated time of these functions.
void cut_into_tiles(const TileFunctions& functions, TileJob* job);
/// The same where sizes are open and `*job` has the largest: panels that are near the best at all sizes.
void cut_open_into_tiles(const TileFunctions& functions, TileJob* job);
/// The same where the panels stay as they are, for a result of other sizes.
void cut_panels_into_tiles(const TileFunctions& functions, TileJob* job);
/// Divides only the pixels into strips; the panels are set.
void cut_into_strips(const TileFunctions& functions, TileShape shape, TileJob* job);

/// The engine of a convolution whose weight is in panels of `panel_columns` columns, as winograd.h packs it: for sizes
/// at which that is slower. Null where tiles are narrower. REQUIRES: open sizes, one group, not transposed, channels
/// last.
std::unique_ptr<Engine> panel_engine(const ConvSpec& spec, int64_t panel_columns);

/// Sets the strides of a weight in panels and of a result of nothing else. REQUIRES: the job is cut.
void set_strides(TileJob* job);

/// Sets what happens to the sums of `job`: bias, residual, activation.
void set_finish(const Finish& finish, TileJob* job);

/// A call as a job that is not yet cut.
TileJob tile_job(const ConvSpec& spec);
TileJob tile_job(const LinearSpec& spec);

/// Null for convolutions that tiles do not support: not channels-last. Groups of few channels are for grouped_conv.h,
/// images of few channels for first_conv.h and last_conv.h.
std::unique_ptr<EngineKind> tile_kind(const ConvSpec& spec, int threads);
std::unique_ptr<EngineKind> tile_kind(const LinearSpec& spec, int threads);
/// Tiles of all groups and images, also where there are others for them. REQUIRES: the convolution is not transposed.
std::unique_ptr<EngineKind> any_shape_tile_kind(const ConvSpec& spec);

}  // namespace berth::cpu
