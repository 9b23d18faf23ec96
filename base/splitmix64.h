// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators"): the same numbers from the same
// seed with every library, which the standard's distributions do not promise.
#pragma once

#include <cstdint>

namespace berth {

/// Its mixing function: each bit of the result depends on every bit of `x`.
constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
/// What its state grows by with each number.
constexpr uint64_t kMixStep = 0x9E3779B97F4A7C15u;

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed = 0) : state_(seed) {}

  uint64_t next() { return mix64(state_ += kMixStep); }
  /// In [0, count). REQUIRES: count > 0.
  int64_t below(int64_t count) { return static_cast<int64_t>(next() % static_cast<uint64_t>(count)); }
  /// In (0, 1].
  double unit() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace berth
