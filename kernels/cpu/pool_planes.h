// Pooling of f32 whose rows lie in memory one after the other: windows slide over planes of height by width. The work
// that kernels/cpu/pool.cc gives to each thread.
#pragma once

#include <cstdint>

#include "kernels/portable/conv_window.h"

namespace berth::cpu {

struct PlanePooling {
  bool is_max = true;  // where NaN is the largest of all; else averages
  const float* in = nullptr;
  float* out = nullptr;
  int64_t planes = 1;
  portable::WindowAxis height, width;
  bool count_include_pad = true;  // of averages
  int64_t divisor = 0;            // of averages; 0 when none is given

  /// Rows of the result.
  int64_t rows() const { return planes * height.out; }
  /// Elements that are read for a row of the result.
  int64_t row_work() const { return width.out * height.kernel * width.kernel; }
  /// Whether windows and steps are short enough for plane_rows().
  bool is_short() const;
};

/// Computes rows [begin, end) of the result, counted through the planes. REQUIRES: pooling.is_short().
void plane_rows(const PlanePooling& pooling, int64_t begin, int64_t end);

}  // namespace berth::cpu
