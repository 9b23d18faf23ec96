// HugePageBuffer: memory for megabytes that are written once, such as weights in another order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth {

/// Bytes, aligned to 64. Large buffers are mapped from the system; whole blocks of 2 MiB request huge pages, which are
/// much faster to fault in: a page fault takes longer than writing the page. Pages become resident when they are
/// written.
class HugePageBuffer {
 public:
  HugePageBuffer() = default;
  ~HugePageBuffer();
  HugePageBuffer(HugePageBuffer&& other) noexcept;
  HugePageBuffer& operator=(HugePageBuffer&& other) noexcept;

  /// Allocates uninitialised memory; false when there is too little. REQUIRES: it was not called before.
  bool allocate(size_t bytes);
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  /// The same, of an element type that the caller keeps to.
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  size_t size() const { return size_; }

 private:
  void free();

  void* memory_ = nullptr;
  size_t mapped_ = 0;  // bytes mapped at memory_; 0 if it is heap memory
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace berth
