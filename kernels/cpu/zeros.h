// What stands for the input of a window's taps that lie outside of it.
#pragma once

#include <cstdint>
#include <memory>

namespace berth::cpu {

/// So many zeros to read. The first thousands are the same for all of a process and no memory of a method's own: a
/// network has a convolution that is padded in each of its blocks. May be moved; data() stays where it is.
class Zeros {
 public:
  /// REQUIRES: count >= 0.
  explicit Zeros(int64_t count);
  const float* data() const;

 private:
  std::unique_ptr<const float[]> own_;  // null where the shared ones are enough
};

}  // namespace berth::cpu
