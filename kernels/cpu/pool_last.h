// Pooling of f32 whose channels lie innermost: windows slide over pixels, and a pixel is a run of channels. The work
// that kernels/cpu/pool.cc gives to each thread.
#pragma once

#include <cstdint>

#include "kernels/portable/conv_window.h"

namespace berth::cpu {

struct LastPooling {
  enum Kind {
    kMax,       // NaN is the largest of all
    kAverage,   // the sum over what a window covers, divided by `divisor` or by the pixels that count
    kAdaptive,  // the mean of the part of the input that a pixel of the output stands for
  };

  Kind kind = kMax;
  const float* in = nullptr;
  float* out = nullptr;
  int64_t batch = 1, channels = 1;
  portable::WindowAxis height, width;
  bool count_include_pad = true;
  int64_t divisor = 0;  // 0 when none is given

  /// Rows of the result.
  int64_t rows() const { return batch * height.out; }
  /// Elements that are read for a row of the result.
  int64_t row_work() const { return width.out * channels * height.kernel * width.kernel; }
};

/// Computes rows [begin, end) of the result, counted through the batch.
void pool_rows(const LastPooling& pooling, int64_t begin, int64_t end);

/// out[c] = factor * sum over i in [0, pixels) of in[i * stride + c], for c in [0, channels).
void sum_pixels(const float* in, int64_t pixels, int64_t stride, int64_t channels, float factor, float* out);

}  // namespace berth::cpu
