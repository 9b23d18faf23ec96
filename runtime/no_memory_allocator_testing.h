// For tests: a device without memory, whose copies do nothing. What a test looks at, it overrides.
#pragma once

#include "runtime/device_allocator.h"

namespace berth::testing {

class NoMemoryAllocator : public DeviceAllocator {
 public:
  DeviceType device_type() const override { return DeviceType::kSim; }
  Result<void*> allocate(size_t, DeviceIndex, size_t) override { return Error::kNotSupported; }
  void deallocate(void*, DeviceIndex) override {}
  Error copy_host_to_device(void*, const void*, size_t, DeviceIndex, DeviceStream*) override { return Error::kOk; }
  Error copy_device_to_host(void*, const void*, size_t, DeviceIndex, DeviceStream*) override { return Error::kOk; }
  Error copy_device_to_device(void*, DeviceIndex, const void*, DeviceIndex, size_t, DeviceStream*) override {
    return Error::kOk;
  }
};

}  // namespace berth::testing
