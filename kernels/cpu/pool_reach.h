// What a window of a pooling covers along one axis.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/portable/conv_window.h"

namespace berth::cpu {

/// The elements of an axis that a position of the output reads: `count` of them from `first` on, in steps of the
/// dilation.
struct Reach {
  int64_t first, count;
  int64_t counted;  // what they stand for in an average
};

/// Steps of `step` that reach `distance`. A division takes as long as a register of channels.
inline int64_t steps(int64_t distance, int64_t step) { return step == 1 ? distance : (distance + step - 1) / step; }

/// `with_padding`: averages count what lies in the padding.
inline Reach reach_of(const portable::WindowAxis& axis, int64_t position, bool with_padding) {
  const int64_t start = position * axis.stride - axis.padding;
  const int64_t skipped = start < 0 ? steps(-start, axis.dilation) : 0;
  const int64_t inside = axis.in > start ? steps(axis.in - start, axis.dilation) : 0;
  const int64_t count = std::max<int64_t>(0, std::min(axis.kernel, inside) - skipped);
  const int64_t padded = std::min(start + axis.kernel, axis.in + axis.padding) - start;
  return {start + skipped * axis.dilation, count, with_padding ? padded : count};
}

}  // namespace berth::cpu
