// HostBuffer: aligned memory for arenas and methods.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/span.h"

namespace berth {

/// Zero-initialised bytes, aligned to 64 or as asked. Small buffers are allocated from the heap, large ones from the
/// system; whole blocks of kLargePage bytes of these request large pages, which take less time to fault in and fewer
/// TLB entries. At most one page more than the requested bytes becomes resident.
class HostBuffer {
 public:
  static constexpr size_t kLargePage = size_t{2} << 20;

  HostBuffer() = default;
  ~HostBuffer() { reset(); }
  HostBuffer(HostBuffer&& other) noexcept { swap(other); }
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  /// MemoryAllocationFailed when there is too little memory. REQUIRES: `alignment` is a power of two.
  static Result<HostBuffer> make(size_t bytes, size_t alignment = 64);
  Span<uint8_t> bytes() const { return bytes_; }

 private:
  Error take_heap(size_t bytes, size_t alignment);
  Error take_pages(size_t bytes);
  void swap(HostBuffer& other);
  void reset();

  void* memory_ = nullptr;
  size_t mapped_ = 0;  // bytes mapped at memory_; 0 if it is heap memory
  Span<uint8_t> bytes_;
};

/// Makes all pages of `memory` resident now instead of one by one when they are first written. Keeps their contents.
void make_resident(Span<uint8_t> memory);

/// Sets `memory` to zero, if possible without touching it: returns its whole pages to the system, which provides zero
/// pages when they are next used. REQUIRES: it is memory of a HostBuffer.
void give_zero_pages(Span<uint8_t> memory);

/// Reads all pages of `memory`, such as a part of a mapped file, into memory now instead of one by one when they are
/// first used. A hint: never fails.
void prefault(Span<const uint8_t> memory);

}  // namespace berth
