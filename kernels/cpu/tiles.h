// Convolutions of our own, channels innermost: each thread takes some places of the result and some of its channels,
// and holds a tile of both in registers while the taps of the window and the input's channels run by. Products of
// matrices are windows of one tap. No patch matrix is made: the places of a tile lie side by side, mostly, so that what
// they see through a tap does too; where they do not, each has a pointer to what it sees, or to zeros.
#pragma once

#include <algorithm>
#include <memory>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

/// What the places of a tile are to each other: rows of a matrix, side by side in one row of the result, or neither.
enum class TileShape { kPlain, kRow, kMixed };

/// A convolution as tiles see it. Strides are in elements.
struct TileJob {
  int64_t batch = 1, groups = 1;
  int64_t depth = 1, columns = 1;  // channels in and out, of a group
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1};
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  bool apart = false;                     // whether there is something else between places of the result
  int64_t panels = 1, panel_columns = 0;  // of a group
  // The places of the result are lines, each cut into strips of about the same height: so many strips are so high, the
  // others one place less, or all are and the last one has what is left. A tile holds a strip.
  TileShape shape = TileShape::kMixed;
  int64_t line = 1, lines = 1, line_strips = 1;
  int64_t strip_height = 1, high_strips = 1;
  // From one to the next, in elements: taps of a window, down and across, and panels of the weight, of which each has
  // rows of columns for its depth; images, rows and places of the result.
  int64_t weight_tap[2] = {0, 0}, weight_panel = 0;
  int64_t out_image = 0, out_row = 0, out_place = 0;
  bool look_ahead = false;  // whether the next panel will be read after this one
  portable::Activation activation;
  bool bounded = true;  // whether the activation is no more than two bounds
  float low = 0, high = 0;
  bool residual = false;
  const float* input = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  const float* zeros = nullptr;  // as many as a row of taps has elements, and two registers
  float* out_data = nullptr;

  int64_t strips() const { return lines * line_strips; }
  /// The first place, in its line, of one of the line's strips.
  int64_t strip_begin(int64_t strip) const {
    return std::min(line, strip * strip_height - std::max<int64_t>(0, strip - high_strips));
  }
  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t places() const { return batch * out[0] * out[1]; }
  int64_t in_channels() const { return groups * depth; }
  int64_t out_channels() const { return groups * columns; }
  /// Whether each place of the result sees the one place of the input that lies where it does.
  bool is_plain() const {
    return !apart && taps() == 1 && stride[0] == 1 && stride[1] == 1 && padding[0] == 0 && padding[1] == 0;
  }
};

/// The functions of one instruction set.
struct TileFunctions {
  int64_t lanes;        // of a register
  int64_t max_vectors;  // of a tile
  int64_t max_rows[5];  // of a tile with so many registers
  int64_t max_mixed;    // rows of a tile of TileShape::kMixed
  int64_t any_rows;     // above this, tiles have even numbers of rows
  /// Strips [begin, end) of panel `panel`, counted over all groups.
  void (*run)(const TileJob& job, int64_t panel, int64_t begin, int64_t end);
};

/// Those that are best on this processor.
TileFunctions tile_functions();

/// Cuts the result into panels of columns and strips of places: what is about to be done soonest by these functions.
void cut_into_tiles(const TileFunctions& functions, TileJob* job);
/// Cuts places alone; the columns are cut.
void cut_into_strips(const TileFunctions& functions, TileShape shape, TileJob* job);

/// What happens to the sums of `job`.
void set_finish(const Finish& finish, TileJob* job);

/// Null for what tiles do not take: transposed convolutions and other layouts than channels last. Those of groups of
/// one channel in and out are depthwise.h's.
std::unique_ptr<EngineKind> tile_kind(const ConvSpec& spec, int threads);
std::unique_ptr<EngineKind> tile_kind(const LinearSpec& spec, int threads);

}  // namespace berth::cpu
