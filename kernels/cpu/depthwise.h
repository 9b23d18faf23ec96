// Channels-last depthwise convolutions. The result is divided into strips of a few rows, and these into registers of
// channels.
#pragma once

#include <memory>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

/// A convolution of groups of one channel in and out.
struct DepthwiseJob {
  int64_t batch = 1, channels = 1;
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1};
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  portable::Activation activation;
  bool residual = false;
  const float* input = nullptr;
  const float* weight = nullptr;  // [kernel][kernel][channel]
  const float* bias = nullptr;
  float* out_data = nullptr;

  /// Rows [first, first + count) of the result are strip `index` of an image; strips differ by one row at most.
  static constexpr int64_t kStripRows = 4;
  int64_t strips() const { return (out[0] + kStripRows - 1) / kStripRows; }
  int64_t strip_first(int64_t index) const { return out[0] * index / strips(); }
};

/// The functions of one instruction set.
struct DepthwiseFunctions {
  int64_t lanes;  // of a register
  /// Strips [begin, end), counted over the batch, of channels [first, first + count); `first` is a multiple of lanes.
  void (*run)(const DepthwiseJob& job, int64_t begin, int64_t end, int64_t first, int64_t count);
};

/// The best functions for this processor.
DepthwiseFunctions depthwise_functions();

/// Null unless it is a channels-last convolution of groups of one channel in and out, and not transposed.
std::unique_ptr<EngineKind> depthwise_kind(const ConvSpec& spec, int threads);

}  // namespace berth::cpu
