// HostBuffer: bytes for arenas and methods, aligned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/span.h"

namespace berth {

/// Bytes that are zero at first, at a multiple of 64 (or more, if asked). Small ones are the heap's. Large ones are the
/// system's own, given back to it at the end; whole blocks of kLargePage of them ask for large pages, which come
/// faster and need fewer places in the processor's page tables. No more than the bytes asked for ever becomes resident,
/// up to a page.
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

  /// MemoryAllocationFailed when the machine has not got them. REQUIRES: `alignment` is a power of two.
  static Result<HostBuffer> make(size_t bytes, size_t alignment = 64);
  Span<uint8_t> bytes() const { return bytes_; }

 private:
  Error take_heap(size_t bytes, size_t alignment);
  Error take_pages(size_t bytes);
  void swap(HostBuffer& other);
  void reset();

  void* memory_ = nullptr;
  size_t mapped_ = 0;  // bytes at memory_ that are the system's; 0: they are the heap's
  Span<uint8_t> bytes_;
};

/// Makes the system give all pages of `memory` now, where it would do so one by one when they are first written. What
/// they hold stays.
void make_resident(Span<uint8_t> memory);

/// Sets `memory` to zero without touching it where that can be: the system takes its whole pages back and gives pages
/// of zeros when they are next touched. REQUIRES: it is a HostBuffer's.
void give_zero_pages(Span<uint8_t> memory);

/// Makes the system bring all pages of `memory` in now, a part of a mapped file say, where it would do so one by one
/// when they are first read. Nothing fails if it cannot.
void bring_in(Span<const uint8_t> memory);

}  // namespace berth
