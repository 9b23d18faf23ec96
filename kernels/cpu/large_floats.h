// LargeFloats: memory for what kernels make of weights when a method is loaded, megabytes that live as long as it does.
#pragma once

#include <cstddef>

namespace berth::cpu {

/// Floats at a multiple of 64. Many of them are the system's own pages, given back to it as a whole; whole blocks of 2
/// MiB of these ask for large pages, which come much faster: a page costs more than what is written to it. No page
/// becomes resident before it is written.
class LargeFloats {
 public:
  LargeFloats() = default;
  ~LargeFloats();
  LargeFloats(const LargeFloats&) = delete;
  LargeFloats& operator=(const LargeFloats&) = delete;

  /// False when the machine has not got them. What they hold is any. REQUIRES: it was not called before.
  bool allocate(size_t count);
  float* data() const { return data_; }

 private:
  void* memory_ = nullptr;
  size_t mapped_ = 0;  // bytes at memory_ that are the system's; 0: they are the heap's
  float* data_ = nullptr;
};

}  // namespace berth::cpu
