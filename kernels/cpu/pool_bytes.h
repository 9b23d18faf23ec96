// The largest of windows over images of bytes whose channels lie innermost: quantised max pooling.
#pragma once

#include <cstdint>

#include "kernels/portable/conv_window.h"

namespace berth::cpu {

struct BytePooling {
  bool is_signed = false;
  const void* in = nullptr;
  void* out = nullptr;
  int64_t batch = 1, channels = 1;
  portable::WindowAxis height, width;

  /// Rows of the result.
  int64_t rows() const { return batch * height.out; }
  /// Bytes that are read for a row of the result.
  int64_t row_work() const { return width.out * channels * height.kernel * width.kernel; }
};

/// Computes rows [begin, end) of the result, counted through the batch.
void pool_byte_rows(const BytePooling& pooling, int64_t begin, int64_t end);

}  // namespace berth::cpu
