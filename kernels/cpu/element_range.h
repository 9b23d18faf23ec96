// The smallest and the largest of a run of floats, for every instruction set.
#pragma once

#include <cstdint>

namespace berth::cpu {

/// Both are NaN where an element is.
struct ElementRange {
  float low, high;
};

/// REQUIRES: n >= 1.
ElementRange element_range(const float* in, int64_t n);

}  // namespace berth::cpu
