// CountingAllocator: counts the copies of an allocator, for `bench`.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/device_allocator.h"

namespace berth::tool {

struct CopyCount {
  uint64_t count = 0;
  uint64_t bytes = 0;
};

/// Forwards to another allocator, which must outlive it. Copies of 0 bytes do not count.
class CountingAllocator final : public DeviceAllocator {
 public:
  explicit CountingAllocator(DeviceAllocator* device) : device_(device) {}

  CopyCount copies() const { return {count_.load(), bytes_.load()}; }

  DeviceType device_type() const override { return device_->device_type(); }
  int device_count() const override { return device_->device_count(); }
  bool is_gpu() const override { return device_->is_gpu(); }
  Result<void*> allocate(size_t bytes, DeviceIndex index, size_t alignment) override {
    return device_->allocate(bytes, index, alignment);
  }
  void deallocate(void* memory, DeviceIndex index) override { device_->deallocate(memory, index); }
  Error copy_host_to_device(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream) override {
    return counted(bytes, device_->copy_host_to_device(target, source, bytes, index, stream));
  }
  Error copy_device_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                            DeviceStream* stream) override {
    return counted(bytes, device_->copy_device_to_host(target, source, bytes, index, stream));
  }
  Result<uint64_t> begin_copy_to_host(void* target, const void* source, size_t bytes, DeviceIndex index,
                                      DeviceStream* stream) override {
    Result<uint64_t> begun = device_->begin_copy_to_host(target, source, bytes, index, stream);
    static_cast<void>(counted(bytes, begun.ok() ? Error::kOk : begun.error()));
    return begun;
  }
  Error finish_copy_to_host(uint64_t number, DeviceIndex index, DeviceStream* stream) override {
    return device_->finish_copy_to_host(number, index, stream);
  }
  Error copy_device_to_device(void* target, DeviceIndex target_index, const void* source, DeviceIndex source_index,
                              size_t bytes, DeviceStream* stream) override {
    return counted(bytes, device_->copy_device_to_device(target, target_index, source, source_index, bytes, stream));
  }
  Result<DeviceStream*> create_stream(DeviceIndex index) override { return device_->create_stream(index); }
  void destroy_stream(DeviceStream* stream, DeviceIndex index) override { device_->destroy_stream(stream, index); }
  Error synchronize(DeviceStream* stream, DeviceIndex index) override { return device_->synchronize(stream, index); }
  Error record(DeviceStream* stream, DeviceIndex index) override { return device_->record(stream, index); }
  Error wait(DeviceStream* stream, DeviceIndex index, DeviceStream* other, DeviceIndex other_index) override {
    return device_->wait(stream, index, other, other_index);
  }

 private:
  Error counted(size_t bytes, Error error) {
    if (error == Error::kOk && bytes != 0) {
      ++count_;
      bytes_ += bytes;
    }
    return error;
  }

  DeviceAllocator* device_;
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace berth::tool
