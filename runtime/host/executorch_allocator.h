// ExecuTorchAllocator: an allocator that was written for ExecuTorch's runtime serves Berth's, unchanged.
//
//     static MyCudaAllocator theirs;                               // : executorch::runtime::DeviceAllocator
//     static berth::ExecuTorchAllocator allocator(&theirs);
//     berth::register_device_allocator(&allocator);
//
// A template over their class, so that this header needs none of ExecuTorch's. Their interface (release 1.5,
// device_allocator.h of its runtime/core) has no streams and no copies within a device; the latter go through host
// memory here. Error numbers and device types are the same in both runtimes.
#pragma once

#include <cstdlib>

#include "runtime/device_allocator.h"

namespace berth {

template <typename Theirs>
class ExecuTorchAllocator final : public DeviceAllocator {
 public:
  /// `theirs` must outlive this object. `devices`: how many there are, which their interface does not say.
  explicit ExecuTorchAllocator(Theirs* theirs, int devices = 1) : theirs_(theirs), devices_(devices) {}

  DeviceType device_type() const override { return static_cast<DeviceType>(theirs_->device_type()); }
  int device_count() const override { return devices_; }

  Result<void*> allocate(size_t bytes, DeviceIndex index, size_t alignment) override {
    if (!exists(index)) return Error::kInvalidArgument;
    const auto memory = theirs_->allocate(bytes, index, alignment);
    if (!memory.ok()) return static_cast<Error>(memory.error());
    return memory.get();
  }
  void deallocate(void* memory, DeviceIndex index) override {
    if (memory != nullptr) theirs_->deallocate(memory, index);
  }

  Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* /*stream*/) override {
    if (!exists(index)) return Error::kInvalidArgument;
    if (bytes == 0) return Error::kOk;
    if (target == nullptr || source == nullptr) return Error::kInvalidArgument;
    return static_cast<Error>(theirs_->copy_host_to_device(target, source, bytes, index));
  }
  Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* /*stream*/) override {
    if (!exists(index)) return Error::kInvalidArgument;
    if (bytes == 0) return Error::kOk;
    if (target == nullptr || source == nullptr) return Error::kInvalidArgument;
    return static_cast<Error>(theirs_->copy_device_to_host(target, source, bytes, index));
  }
  /// Uses the heap. MemoryAllocationFailed when the host lacks as many bytes.
  Error copy_device_to_device(void* target, DeviceIndex target_index, const void* source, DeviceIndex source_index,
                              size_t bytes, DeviceStream* /*stream*/) override {
    if (!exists(target_index) || !exists(source_index)) return Error::kInvalidArgument;
    if (bytes == 0) return Error::kOk;
    if (target == nullptr || source == nullptr) return Error::kInvalidArgument;
    void* host = std::malloc(bytes);
    if (host == nullptr) return Error::kMemoryAllocationFailed;
    Error error = static_cast<Error>(theirs_->copy_device_to_host(host, source, bytes, source_index));
    if (error == Error::kOk)
      error = static_cast<Error>(theirs_->copy_host_to_device(target, host, bytes, target_index));
    std::free(host);
    return error;
  }

 private:
  bool exists(DeviceIndex index) const { return index >= 0 && index < devices_; }

  Theirs* const theirs_;
  const int devices_;
};

}  // namespace berth
