// Convolutions of our own that take each channel by itself, channels innermost: a few registers of channels at a time,
// some places of a row side by side.
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
  const float* zeros = nullptr;  // as many as two registers hold
  float* out_data = nullptr;
};

/// The functions of one instruction set.
struct DepthwiseFunctions {
  int64_t lanes;  // of a register
  /// Rows [begin, end) of the result, counted over the batch.
  void (*run)(const DepthwiseJob& job, int64_t begin, int64_t end);
};

/// Those that are best on this processor.
DepthwiseFunctions depthwise_functions();

/// Null for other convolutions than of one channel in and out a group, transposed ones, and other layouts than channels
/// last.
std::unique_ptr<EngineKind> depthwise_kind(const ConvSpec& spec, int threads);

}  // namespace berth::cpu
