#include "runtime/device_memory_buffer.h"

#include <utility>

#include "runtime/log.h"

namespace berth {

Result<DeviceMemoryBuffer> DeviceMemoryBuffer::create(size_t bytes, Device device, size_t alignment,
                                                      const DeviceAllocatorRegistry& registry) {
  DeviceAllocator* allocator = registry.get_allocator(device.type);
  if (allocator == nullptr) {
    log_message(LogLevel::kError, "device memory: no allocator is registered for %s", to_text(device).text);
    return Error::kNotFound;
  }
  BERTH_ASSIGN_OR_RETURN(void* const data, allocator->allocate(bytes, device.index, alignment));
  DeviceMemoryBuffer buffer;
  buffer.allocator_ = allocator;
  buffer.data_ = data;
  buffer.size_ = bytes;
  buffer.device_ = device;
  return buffer;
}

DeviceMemoryBuffer& DeviceMemoryBuffer::operator=(DeviceMemoryBuffer&& other) noexcept {
  DeviceMemoryBuffer moved(std::move(other));
  swap(moved);
  return *this;
}

DeviceMemoryBuffer::~DeviceMemoryBuffer() {
  if (data_ != nullptr) allocator_->deallocate(data_, device_.index);
}

void DeviceMemoryBuffer::swap(DeviceMemoryBuffer& other) {
  std::swap(allocator_, other.allocator_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(device_, other.device_);
}

}  // namespace berth
