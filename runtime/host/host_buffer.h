// HostBuffer: bytes from the heap, aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/span.h"

namespace berth {

/// Bytes from the heap, zero at first, at a multiple of 64 (or more, if asked).
class HostBuffer {
 public:
  HostBuffer() = default;
  /// MemoryAllocationFailed when the heap has not got them.
  static Result<HostBuffer> make(size_t bytes, size_t alignment = 64);
  Span<uint8_t> bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
  Span<uint8_t> bytes_;
};

}  // namespace berth
