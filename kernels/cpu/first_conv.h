// The first convolution of a network: images of a few channels. A row of the window is contiguous in memory, so the
// inputs of consecutive pixels of a row of the result are a fixed step apart. The input may be channels-last or planes;
// the result is channels-last.
#pragma once

#include <memory>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

/// Strides are in elements.
struct FirstConvJob {
  int64_t batch = 1;
  int64_t depth = 1, columns = 1;  // channels in and out
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {0, 0};
  int64_t image_step = 0, row_step = 0, column_step = 1;  // of the input
  // A row of the window consists of `runs` contiguous runs of elements: one, or one for each plane.
  int64_t runs = 1, run = 1, run_step = 0;
  int64_t panels = 1, panel_columns = 0;  // each panel has all taps of its columns
  portable::Activation activation;
  bool residual = false;  // never
  const float* input = nullptr;
  const float* weight = nullptr;  // [panel][kernel][runs][run][panel_columns]
  const float* bias = nullptr;
  float* out_data = nullptr;

  /// Elements between the inputs of consecutive pixels.
  int64_t step() const { return stride[1] * column_step; }
  /// The columns of the input that `count` pixels need.
  int64_t span(int64_t count) const { return (count - 1) * stride[1] + kernel[1]; }
};

/// The functions of one instruction set.
struct FirstConvFunctions {
  int64_t lanes;        // of a register
  int64_t max_columns;  // of a panel
  /// Whether run() supports the job. REQUIRES: its panels are set.
  bool (*takes)(const FirstConvJob& job);
  /// Rows [begin, end) of the result, counted over the batch.
  void (*run)(const FirstConvJob& job, int64_t begin, int64_t end);
};

/// The best functions for this processor.
FirstConvFunctions first_conv_functions();

/// Null for what it does not take: more than four channels, groups, gaps between taps, narrow results.
std::unique_ptr<EngineKind> first_conv_kind(const ConvSpec& spec, int threads);

}  // namespace berth::cpu
