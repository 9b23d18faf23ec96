#include "runtime/memory.h"

#include "base/math.h"

namespace berth {

void* MemoryAllocator::allocate(size_t bytes, size_t alignment) {
  if (!is_power_of_two(alignment) || memory_.data() == nullptr) return nullptr;
  const uintptr_t next = reinterpret_cast<uintptr_t>(memory_.data()) + used_;
  const size_t padding = -next & (alignment - 1);
  if (padding > free_size() || bytes > free_size() - padding) return nullptr;
  used_ += padding + bytes;
  return memory_.data() + (used_ - bytes);
}

Result<HierarchicalAllocator> HierarchicalAllocator::make(Span<const Span<uint8_t>> arenas,
                                                          Span<const Device> devices) {
  if (!devices.empty() && devices.size() != arenas.size()) return Error::kInvalidArgument;
  return HierarchicalAllocator(arenas, devices);
}

bool MemoryManager::has_device_memory() const {
  for (const Device device : planned_->devices()) {
    if (!device.is_cpu()) return true;
  }
  return false;
}

Result<void*> HierarchicalAllocator::address(size_t index, uint64_t offset, size_t bytes) const {
  uint64_t end = 0;
  if (index >= arenas_.size() || __builtin_add_overflow(offset, bytes, &end)) return Error::kInvalidArgument;
  const Span<uint8_t> arena = arenas_[index];
  if (end > arena.size()) return Error::kMemoryAllocationFailed;
  if (arena.data() == nullptr) return static_cast<void*>(nullptr);
  return static_cast<void*>(arena.data() + offset);
}

}  // namespace berth
