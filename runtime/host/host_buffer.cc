#include "runtime/host/host_buffer.h"

#include <cstdlib>

namespace berth {

void HostBuffer::Free::operator()(void* memory) const { std::free(memory); }

Result<HostBuffer> HostBuffer::make(size_t bytes, size_t alignment) {
  if (alignment < 64) alignment = 64;
  if (bytes > SIZE_MAX / 2 - alignment) return Error::kMemoryAllocationFailed;
  HostBuffer buffer;
  // calloc instead of aligned_alloc: large arenas come as pages that are not touched before they are used.
  buffer.memory_.reset(std::calloc(bytes + alignment, 1));
  if (buffer.memory_ == nullptr) return Error::kMemoryAllocationFailed;
  const uintptr_t start = reinterpret_cast<uintptr_t>(buffer.memory_.get());
  const uintptr_t padding = -start & (alignment - 1);
  buffer.bytes_ = {static_cast<uint8_t*>(buffer.memory_.get()) + padding, bytes};
  return buffer;
}

}  // namespace berth
