#include "runtime/device_allocator.h"

#include <algorithm>
#include <cstdio>

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

Result<Device> DeviceAllocatorRegistry::find_gpu(DeviceIndex index, format::Report* report) const {
  char names[128] = "";  // of the GPUs, or of everything where there is none
  size_t used = 0;
  const Entry* found = nullptr;
  size_t gpus = 0;
  const auto add = [&](const Entry& entry) {
    const int written =
        std::snprintf(names + used, sizeof names - used, "%s%s", used == 0 ? "" : ", ", to_string(entry.type));
    used = std::min(sizeof names - 1, used + written);
  };
  for (size_t i = 0; i < count_; ++i) {
    if (!entries_[i].allocator->is_gpu() || entries_[i].allocator->device_count() <= 0) continue;
    found = &entries_[i];
    ++gpus;
    add(entries_[i]);
  }
  if (gpus == 0) {
    for (size_t i = 0; i < count_; ++i) add(entries_[i]);
    return format::fail(report, Error::kNotFound, "gpu", "this machine has no GPU that is registered; registered %s%s",
                        count_ == 0 ? "is nothing" : "are ", names);
  }
  if (gpus > 1) {
    return format::fail(report, Error::kInvalidArgument, "gpu", "there are %zu types of GPU; name one: %s", gpus,
                        names);
  }
  const int count = found->allocator->device_count();
  if (index < 0 || index >= count) {
    return format::fail(report, Error::kInvalidArgument, "gpu", "there is no GPU %d; %s has %d", index, names, count);
  }
  return Device(found->type, index);
}

Error register_device_allocator(DeviceAllocator* allocator) {
  return DeviceAllocatorRegistry::instance().register_allocator(allocator);
}

DeviceAllocator* get_device_allocator(DeviceType type) {
  return DeviceAllocatorRegistry::instance().get_allocator(type);
}

}  // namespace berth
