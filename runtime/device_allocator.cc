#include "runtime/device_allocator.h"

#include "runtime/log.h"

namespace berth {

DeviceAllocatorRegistry& DeviceAllocatorRegistry::instance() {
  static DeviceAllocatorRegistry registry;
  return registry;
}

Error DeviceAllocatorRegistry::register_allocator(DeviceType type, DeviceAllocator* allocator) {
  const char* name = to_string(type);
  if (allocator == nullptr) {
    log_message(LogLevel::kError, "device allocator: null for device type %d", static_cast<int>(type));
    return Error::kInvalidArgument;
  }
  if (type == DeviceType::kCpu || name == nullptr) {
    log_message(LogLevel::kError, "device allocator: type %d (%s) cannot have an allocator", static_cast<int>(type),
                name == nullptr ? "unknown" : name);
    return Error::kInvalidArgument;
  }
  if (get_allocator(type) != nullptr) {
    log_message(LogLevel::kError, "device allocator: one is already registered for %s", name);
    return Error::kRegistrationAlreadyRegistered;
  }
  if (count_ == kMaxTypes) {
    log_message(LogLevel::kError, "device allocator: %s is not added, the table is full (%zu types)", name, kMaxTypes);
    return Error::kOutOfResources;
  }
  entries_[count_++] = {type, allocator};
  return Error::kOk;
}

Error DeviceAllocatorRegistry::register_allocator(DeviceAllocator* allocator) {
  return register_allocator(allocator == nullptr ? DeviceType::kCpu : allocator->device_type(), allocator);
}

DeviceAllocator* DeviceAllocatorRegistry::get_allocator(DeviceType type) const {
  for (size_t i = 0; i < count_; ++i) {
    if (entries_[i].type == type) return entries_[i].allocator;
  }
  return nullptr;
}

Error register_device_allocator(DeviceAllocator* allocator) {
  return DeviceAllocatorRegistry::instance().register_allocator(allocator);
}

DeviceAllocator* get_device_allocator(DeviceType type) {
  return DeviceAllocatorRegistry::instance().get_allocator(type);
}

}  // namespace berth
