// Places: where element `index` of a walk over several tensors lies in each of them, worked out by each thread for
// itself.
#pragma once

#include "backends/cuda/kernels/element.h"
#include "kernels/portable/iterate.h"

namespace berth::cuda {

/// n / d and n % d for n >= 0 and d > 0. Numbers of 32 bits, which nearly all are, divide many times faster.
struct Division {
  int64_t quotient;
  int64_t rest;
};

BERTH_HD inline Division divide(int64_t n, int64_t d) {
  if (static_cast<uint64_t>(n | d) >> 32 == 0) {
    const auto small = static_cast<uint32_t>(n);
    const auto by = static_cast<uint32_t>(d);
    const uint32_t quotient = small / by;
    return {quotient, small - quotient * by};
  }
  const int64_t quotient = n / d;
  return {quotient, n - quotient * d};
}

/// A walk (kernels/portable/iterate.h) of up to `kOperands` tensors, as the device reads it: sizes and strides in
/// elements, outermost first. It travels to the device as a launch's parameter.
template <int kOperands>
struct Places {
  int rank = 1;
  int64_t sizes[kMaxRank] = {1};
  int64_t strides[kOperands][kMaxRank] = {};

  Places() = default;
  /// REQUIRES: walk.operands <= kOperands.
  explicit Places(const portable::Walk& walk) : rank(walk.rank) {
    for (int d = 0; d < rank; ++d) {
      sizes[d] = walk.sizes[d];
      for (int k = 0; k < walk.operands; ++k) strides[k][d] = walk.strides[k][d];
    }
  }

  /// The offset of each operand's element at position `index`, which is below the product of the sizes.
  BERTH_HD void at(int64_t index, int64_t (&offsets)[kOperands]) const {
    for (int k = 0; k < kOperands; ++k) offsets[k] = 0;
    for (int d = rank - 1; d > 0; --d) {
      const Division division = divide(index, sizes[d]);
      for (int k = 0; k < kOperands; ++k) offsets[k] += division.rest * strides[k][d];
      index = division.quotient;
    }
    for (int k = 0; k < kOperands; ++k) offsets[k] += index * strides[k][0];
  }

  /// The same for a single operand.
  BERTH_HD int64_t at(int64_t index) const {
    int64_t offsets[kOperands];
    at(index, offsets);
    return offsets[0];
  }
};

}  // namespace berth::cuda
