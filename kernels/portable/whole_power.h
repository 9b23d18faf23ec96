// Powers of whole numbers, for every set of kernels.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace berth::portable {

/// `base` to the power of `exponent`, which wraps around.
BERTH_HD inline uint64_t unsigned_power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

/// The same with signs. A negative exponent gives the whole part of the reciprocal:
/// of 1 and -1 alone something is left.
BERTH_HD inline int64_t whole_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  return static_cast<int64_t>(unsigned_power(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
}

}  // namespace berth::portable
