// HugePageBuffer: memory for weights that kernels transform when a method is loaded: megabytes, as long as the method
// lives.
#pragma once

#include <cstddef>

namespace berth::cpu {

/// Floats, aligned to 64 bytes. Large buffers are mapped from the system; whole blocks of 2 MiB request huge pages,
/// which are much faster to fault in: a page fault takes longer than writing the page. Pages become resident when they
/// are written.
class HugePageBuffer {
 public:
  HugePageBuffer() = default;
  ~HugePageBuffer();
  HugePageBuffer(const HugePageBuffer&) = delete;
  HugePageBuffer& operator=(const HugePageBuffer&) = delete;

  /// Allocates uninitialised memory; false when there is too little. REQUIRES: it was not called before.
  bool allocate(size_t count);
  float* data() const { return data_; }

 private:
  void* memory_ = nullptr;
  size_t mapped_ = 0;  // bytes mapped at memory_; 0 if it is heap memory
  float* data_ = nullptr;
};

}  // namespace berth::cpu
