// Channels-last convolutions of groups of few channels, of one in and out (depthwise) first of all. The result is
// divided into strips of a few rows, and these into registers that hold the channels of as many groups as fit.
#pragma once

#include <memory>

#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {

struct GroupedJob {
  int64_t batch = 1, groups = 1;
  int64_t depth = 1, columns = 1;  // channels in and out, of a group
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1};
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  int64_t panel_columns = 1;  // channels of the result that share a register
  /// Strides of the weight in elements, of taps and of registers. Channels in lie panel_columns apart.
  int64_t weight_tap = 1, weight_panel = 1;
  portable::Activation activation;
  bool residual = false;
  bool counts_padding = false;  // what is outside counts as zeros: where the weight is not finite, they make NaN
  const float* input = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* out_data = nullptr;

  bool is_depthwise() const { return depth == 1 && columns == 1; }
  int64_t in_channels() const { return groups * depth; }
  int64_t channels() const { return groups * columns; }

  /// Rows [first, first + count) of the result are strip `index` of an image; strips differ by one row at most.
  static constexpr int64_t kStripRows = 4;
  int64_t strips() const { return (out[0] + kStripRows - 1) / kStripRows; }
  int64_t strip_first(int64_t index) const { return out[0] * index / strips(); }
};

/// The functions of one instruction set.
struct GroupedFunctions {
  int64_t lanes;  // of a register
  /// Whether run() is for this window: all of single channels, and others that are not large.
  bool (*takes)(const GroupedJob& job);
  /// Strips [begin, end), counted over the batch, of channels [first, first + count) of the result; `first` is a
  /// multiple of panel_columns.
  void (*run)(const GroupedJob& job, int64_t begin, int64_t end, int64_t first, int64_t count);
};

/// The best functions for this processor.
GroupedFunctions grouped_functions();

/// Null unless it is a channels-last convolution of groups of which one or more fit a register, and not transposed.
std::unique_ptr<EngineKind> grouped_conv_kind(const ConvSpec& spec, int threads);

}  // namespace berth::cpu
