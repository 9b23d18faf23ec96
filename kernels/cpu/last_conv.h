// The last convolution of a network: images to a few channels, such as a mask, three colours or the scores of a
// detector. A register of channels would be mostly empty, so here a register has pixels, side by side in a row of one
// channel. What a strip of pixels sees is copied first, channel by channel, with zeros around the image; each row once.
#pragma once

#include <memory>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

/// Input and result are channels-last. Sizes are in elements.
struct LastConvJob {
  int64_t batch = 1;
  int64_t depth = 1, columns = 1;  // channels in and out
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {0, 0},
          dilation[2] = {1, 1};
  int64_t registers = 0;  // of pixels in a strip
  int64_t width = 0;      // pixels of a strip
  int64_t strips = 0;     // of a row of the result
  portable::Activation activation;
  bool residual = false;  // whether `out_data` has what is added before the activation
  const float* input = nullptr;
  const float* weight = nullptr;  // [kernel][depth][kernel][columns]
  const float* bias = nullptr;
  float* out_data = nullptr;

  int64_t taps() const { return kernel[0] * kernel[1]; }
  /// Rows of the input from the first to the last that a row of the result sees.
  int64_t window_rows() const { return (kernel[0] - 1) * dilation[0] + 1; }
  /// Of a copied row and channel, each stride[1]-th column of the input: as many as the pixels of a strip see.
  int64_t plane() const { return width + (kernel[1] - 1) * dilation[1] / stride[1]; }
  /// Of a copied row: for each channel a plane for each column up to the stride.
  int64_t copied_row() const { return depth * stride[1] * plane(); }
  /// What a thread needs for its copies and sums.
  int64_t scratch_floats() const { return window_rows() * copied_row() + (residual ? 2 : 1) * columns * width; }
};

/// Rows [begin, end) of one strip of one image.
struct LastConvBand {
  int64_t image, strip, begin, end;
};

/// The functions of one instruction set.
struct LastConvFunctions {
  int64_t lanes;  // of a register; 0 where it has no such tiles
  int64_t max_columns;
  /// The registers that a strip may have, for these columns, from the most to the fewest; 0 ends them.
  const int* (*registers)(int64_t columns);
  /// REQUIRES: job.registers is one of them; `scratch` has job.scratch_floats() floats.
  void (*run)(const LastConvJob& job, const LastConvBand& band, float* scratch);
};

/// The best functions for this processor.
LastConvFunctions last_conv_functions();

/// Null for what it does not take: groups, and whatever other tiles compute as fast.
std::unique_ptr<EngineKind> last_conv_kind(const ConvSpec& spec, int threads);

}  // namespace berth::cpu
