// The largest of windows over images of bytes or of bf16 whose channels lie innermost. NaN is the largest of all.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "kernels/portable/conv_window.h"

namespace berth::cpu {

struct SmallPooling {
  DType type = DType::kU8;  // or i8, bf16
  const void* in = nullptr;
  void* out = nullptr;
  int64_t batch = 1, channels = 1;
  portable::WindowAxis height, width;

  /// Rows of the result.
  int64_t rows() const { return batch * height.out; }
  /// Elements that are read for a row of the result.
  int64_t row_work() const { return width.out * channels * height.kernel * width.kernel; }
};

/// Computes rows [begin, end) of the result, counted through the batch.
void pool_small_rows(const SmallPooling& pooling, int64_t begin, int64_t end);

}  // namespace berth::cpu
