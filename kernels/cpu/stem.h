// Convolutions of images of a few channels, as networks begin with: what a row of the window reads lies side by side in
// memory, so that places of one row of the result are a fixed step apart, whatever they read. The input may be channels
// last, or planes as images come; the result is channels last.
#pragma once

#include <memory>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

/// Strides are in elements.
struct StemJob {
  int64_t batch = 1;
  int64_t depth = 1, columns = 1;  // channels in and out
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {0, 0};
  int64_t image_step = 0, row_step = 0, column_step = 1;  // of the input
  // A row of the window is so many runs of elements side by side: one, or one a plane.
  int64_t runs = 1, run = 1, run_step = 0;
  int64_t panels = 1, panel_columns = 0;  // each panel has all taps of its columns
  portable::Activation activation;
  bool residual = false;  // never
  const float* input = nullptr;
  const float* weight = nullptr;  // [panel][kernel][runs][run][panel_columns]
  const float* bias = nullptr;
  float* out_data = nullptr;

  /// Elements from what a place sees to what the next one does.
  int64_t step() const { return stride[1] * column_step; }
  /// Columns of the input that `count` places see.
  int64_t span(int64_t count) const { return (count - 1) * stride[1] + kernel[1]; }
};

/// The functions of one instruction set.
struct StemFunctions {
  int64_t lanes;        // of a register
  int64_t max_columns;  // of a panel
  /// Whether run() takes it. REQUIRES: its panels are cut.
  bool (*takes)(const StemJob& job);
  /// Rows [begin, end) of the result, counted over the batch.
  void (*run)(const StemJob& job, int64_t begin, int64_t end);
};

/// Those that are best on this processor.
StemFunctions stem_functions();

/// Null for what it does not take: more than four channels, groups, gaps between taps, narrow results.
std::unique_ptr<EngineKind> stem_kind(const ConvSpec& spec, int threads);

}  // namespace berth::cpu
