// DeviceMemoryBuffer: device memory that is freed on destruction.
//
//     Result<DeviceMemoryBuffer> buffer = DeviceMemoryBuffer::create(1024, Device(DeviceType::kCuda, 0));
//     Span<uint8_t> bytes = buffer->as_span();   // a device address: the host must not dereference it
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/result.h"
#include "base/span.h"
#include "runtime/device_allocator.h"

namespace berth {

/// Move-only. The allocator must outlive it.
class DeviceMemoryBuffer {
 public:
  /// An empty buffer: null, 0 bytes.
  DeviceMemoryBuffer() = default;
  DeviceMemoryBuffer(DeviceMemoryBuffer&& other) noexcept { swap(other); }
  DeviceMemoryBuffer& operator=(DeviceMemoryBuffer&& other) noexcept;
  ~DeviceMemoryBuffer();

  /// `bytes` bytes on `device`, uninitialised, at a multiple of `alignment`. NotFound when `registry` has no allocator
  /// for this type (it never has one for the host); the allocator's errors.
  static Result<DeviceMemoryBuffer> create(
      size_t bytes, Device device, size_t alignment = DeviceAllocator::kDefaultAlignment,
      const DeviceAllocatorRegistry& registry = DeviceAllocatorRegistry::instance());

  void* data() const { return data_; }
  size_t size() const { return size_; }
  Span<uint8_t> as_span() const { return {static_cast<uint8_t*>(data_), size_}; }
  /// The host when the buffer is empty.
  Device device() const { return device_; }
  /// Null when the buffer is empty.
  DeviceAllocator* allocator() const { return allocator_; }

 private:
  void swap(DeviceMemoryBuffer& other);

  DeviceAllocator* allocator_ = nullptr;
  void* data_ = nullptr;
  size_t size_ = 0;
  Device device_;
};

}  // namespace berth
