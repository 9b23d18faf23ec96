// A complete custom device in one file. Its hardware is imaginary: its memory is an array that only its "driver"
// accesses, and its addresses are numbers that the host cannot dereference. For real hardware, the marked lines call
// its driver.
//
// docs/devices.md goes through it step by step.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "backends/nested/nested_backend.h"
#include "kernels/portable/portable.h"
#include "runtime/device_allocator.h"

namespace toy {

using berth::DeviceIndex;
using berth::DeviceStream;
using berth::Error;
using berth::Result;

/// Step 1: memory and copies. There is one device without streams: every call is complete when it returns, so the base
/// class's stream functions are sufficient.
class ToyAllocator final : public berth::DeviceAllocator {
 public:
  /// Runs programs that were compiled for sim:0. Hardware with its own device type needs a line in base/device.h
  /// and its number in format/program.fbs.
  berth::DeviceType device_type() const override { return berth::DeviceType::kSim; }

  Result<void*> allocate(size_t bytes, DeviceIndex index, size_t alignment) override {
    if (index != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kMostAlignment) {
      return Error::kInvalidArgument;
    }
    const std::lock_guard lock(mutex_);
    // Driver: allocate. Here: first fit, at multiples of kMostAlignment.
    if (bytes > sizeof(memory_)) return Error::kMemoryAllocationFailed;
    size_t offset = 0;
    for (const auto& [begin, size] : blocks_) {
      if (begin - offset >= room(bytes)) break;
      offset = begin + room(size);
    }
    if (room(bytes) > sizeof(memory_) - offset) return Error::kMemoryAllocationFailed;
    blocks_[offset] = bytes;
    return reinterpret_cast<void*>(kFirstAddress + offset);
  }

  void deallocate(void* memory, DeviceIndex) override {
    const std::lock_guard lock(mutex_);
    blocks_.erase(reinterpret_cast<uintptr_t>(memory) - kFirstAddress);
  }

  Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index, DeviceStream*) override {
    return copy(find(target, bytes, index), source, bytes, index);
  }
  Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index, DeviceStream*) override {
    return copy(target, find(source, bytes, index), bytes, index);
  }
  Error copy_device_to_device(void* target, DeviceIndex target_index, const void* source, DeviceIndex source_index,
                              size_t bytes, DeviceStream*) override {
    if (source_index != 0) return Error::kInvalidArgument;
    return copy(find(target, bytes, target_index), find(source, bytes, source_index), bytes, target_index);
  }

  /// For the device's kernels: the memory at a device address. Null when the bytes are not inside one allocation.
  void* find(const void* address, size_t bytes, DeviceIndex index) const {
    const std::lock_guard lock(mutex_);
    const size_t offset = reinterpret_cast<uintptr_t>(address) - kFirstAddress;
    auto block = blocks_.upper_bound(offset);
    if (index != 0 || block == blocks_.begin()) return nullptr;
    --block;
    const size_t inside = offset - block->first;
    if (inside > block->second || bytes > block->second - inside) return nullptr;
    return memory_ + offset;
  }

  size_t blocks() const {
    const std::lock_guard lock(mutex_);
    return blocks_.size();
  }

 private:
  static constexpr size_t kMostAlignment = 256;
  // Not a valid pointer, so host code that dereferences it faults.
  static constexpr uintptr_t kFirstAddress = uintptr_t{1} << 60;

  // Allocations of 0 bytes have distinct addresses, too.
  static size_t room(size_t bytes) { return (bytes / kMostAlignment + 1) * kMostAlignment; }

  static Error copy(void* target, const void* source, size_t bytes, DeviceIndex index) {
    if (index != 0) return Error::kInvalidArgument;
    if (bytes == 0) return Error::kOk;
    if (target == nullptr || source == nullptr) return Error::kInvalidArgument;
    std::memcpy(target, source, bytes);  // the hardware's: copy
    return Error::kOk;
  }

  mutable std::mutex mutex_;
  std::map<size_t, size_t> blocks_;  // offset → bytes
  alignas(kMostAlignment) mutable uint8_t memory_[16 << 20];
};

/// Step 2: the backend. This one uses the portable kernels, on the device's memory; real hardware provides a table of
/// its own kernels (runtime/kernel.h).
class ToyBackend final : public berth::NestedBackend {
 public:
  explicit ToyBackend(const ToyAllocator* allocator)
      : NestedBackend("berth.sim", berth::portable::kernels()), allocator_(allocator) {}

  bool serves(berth::DeviceType type) const override { return type == berth::DeviceType::kSim; }

 protected:
  Error reach(const berth::DeviceUse& use, void* address, size_t bytes, void** reached) const override {
    *reached = allocator_->find(address, bytes, use.device.index);
    return *reached == nullptr ? Error::kInvalidArgument : Error::kOk;
  }

 private:
  const ToyAllocator* allocator_;
};

}  // namespace toy
