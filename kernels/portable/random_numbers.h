// Random numbers without a state that threads share: number i of a stream is a function of both.
//
// Every kernel call takes a stream of its own from one counter of the process, so that no two calls give the same
// numbers, whatever number of threads shares the work. A process that makes the same calls in the same order gives the
// same numbers each time it starts.
//
// The mixing function is SplitMix64's.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/splitmix64.h"

namespace berth::portable {

class RandomStream {
 public:
  /// The process's next stream.
  static RandomStream next();

  explicit RandomStream(uint64_t number) : key_(mix64((number + 1) * kMixStep)) {}

  /// 64 random bits, the same for the same `index`.
  uint64_t bits(uint64_t index) const { return mix64(key_ + (index + 1) * kMixStep); }

  /// In [0, 1), a multiple of 2^-`digits`, so that a type with as many digits holds it as it is.
  double uniform(uint64_t index, int digits = 53) const {
    return std::ldexp(static_cast<double>(bits(index) >> (64 - digits)), -digits);
  }

  /// With mean 0 and deviation 1 (Box and Muller's transformation).
  double normal(uint64_t index) const {
    const double radius = std::sqrt(-2 * std::log(1 - uniform(2 * index)));
    return radius * std::cos(6.283185307179586 * uniform(2 * index + 1));
  }

 private:
  uint64_t key_;
};

}  // namespace berth::portable
