// One row of an image made larger or smaller, the channels innermost: the work behind kernels/cpu/resize.cc.
#pragma once

#include <cstdint>

#include "kernels/portable/upsample_positions.h"

namespace berth::cpu {

/// A pixel for each of `columns`, from two rows of pixels.
struct BlendRow {
  const float* above = nullptr;
  const float* below = nullptr;
  float down = 0;  // the weight of the row below
  const portable::Between<float>* columns = nullptr;
  int64_t width = 0, channels = 0;
  float* out = nullptr;
};

void blend_row(const BlendRow& row);

}  // namespace berth::cpu
