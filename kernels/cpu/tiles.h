// Convolutions of our own, channels innermost: each thread takes some places of the result and some of its channels,
// and holds a tile of both in registers while the taps of the window and the input's channels run by. Products of
// matrices are windows of one tap. No patch matrix is made: each place has a pointer to what it sees through a tap, or
// to zeros.
#pragma once

#include <memory>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

/// A convolution as tiles see it. Strides are in elements.
struct TileJob {
  int64_t batch = 1, groups = 1;
  int64_t depth = 1, columns = 1;  // channels in and out, of a group
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1};
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  int64_t panels = 1, panel_columns = 0;  // of a group; each panel has all taps and depths of its columns
  portable::Activation activation;
  bool residual = false;
  const float* input = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  const float* zeros = nullptr;  // as many as a row of taps has elements, and two registers
  float* out_data = nullptr;

  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t places() const { return batch * out[0] * out[1]; }
  int64_t in_channels() const { return groups * depth; }
  int64_t out_channels() const { return groups * columns; }
  /// Whether each place of the result sees the one place of the input that lies where it does.
  bool is_plain() const {
    return taps() == 1 && stride[0] == 1 && stride[1] == 1 && padding[0] == 0 && padding[1] == 0;
  }
};

/// The functions of one instruction set.
struct TileFunctions {
  int64_t lanes;        // of a register
  int64_t max_columns;  // of a tile
  /// Places [begin, end) of panel `panel`, counted over all groups.
  void (*run)(const TileJob& job, int64_t panel, int64_t begin, int64_t end);
};

/// Those that are best on this processor.
TileFunctions tile_functions();

/// Null for what tiles do not take: transposed convolutions and other layouts than channels last. Those of groups of
/// one channel in and out are depthwise.h's.
std::unique_ptr<EngineKind> tile_kind(const ConvSpec& spec, int threads);
std::unique_ptr<EngineKind> tile_kind(const LinearSpec& spec, int threads);

}  // namespace berth::cpu
