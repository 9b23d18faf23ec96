#include "base/device.h"

#include <atomic>
#include <cstdio>
#include <cstring>

namespace berth {

namespace {

#define BERTH_DEVICE_TYPE(type, name, number) ", " name
constexpr char kCommaNames[] = BERTH_DEVICE_TYPES(BERTH_DEVICE_TYPE);
#undef BERTH_DEVICE_TYPE

constexpr size_t kBuiltIn = sizeof kBuiltInDeviceTypes / sizeof kBuiltInDeviceTypes[0];

struct RegisteredType {
  char name[kLongestDeviceTypeName + 1];
  int number;
  // The names of all types up to this one.
  char names[sizeof kCommaNames + kMostRegisteredDeviceTypes * (kLongestDeviceTypeName + 2)];
};

// Entries are written once, before the count that shows them; so readers need no lock.
RegisteredType registered[kMostRegisteredDeviceTypes];
std::atomic<size_t> registered_count{0};
std::atomic_flag registering = ATOMIC_FLAG_INIT;

class RegistrationLock {
 public:
  RegistrationLock() {
    while (registering.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~RegistrationLock() { registering.clear(std::memory_order_release); }
  RegistrationLock(const RegistrationLock&) = delete;
  RegistrationLock& operator=(const RegistrationLock&) = delete;
};

bool is_type_name(const char* name, size_t size) {
  if (size == 0 || size > kLongestDeviceTypeName || name[0] < 'a' || name[0] > 'z') return false;
  for (size_t i = 0; i < size; ++i) {
    const char c = name[i];
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_') return false;
  }
  return true;
}

bool equal_without_case(const char* text, size_t size, const char* name) {
  for (size_t i = 0; i < size; ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    if (name[i] == '\0' || name[i] != c) return false;
  }
  return name[size] == '\0';
}

Result<DeviceIndex> parse_index(const char* text, size_t size) {
  if (size == 0 || size > 3 || (size > 1 && text[0] == '0')) return Error::kInvalidArgument;
  int index = 0;
  for (size_t i = 0; i < size; ++i) {
    if (text[i] < '0' || text[i] > '9') return Error::kInvalidArgument;
    index = index * 10 + (text[i] - '0');
  }
  if (index > INT8_MAX) return Error::kInvalidArgument;
  return static_cast<DeviceIndex>(index);
}

}  // namespace

const char* to_string(DeviceType type) {
  switch (type) {
#define BERTH_DEVICE_TYPE(type, name, number) \
  case DeviceType::type: return name;
    BERTH_DEVICE_TYPES(BERTH_DEVICE_TYPE)
#undef BERTH_DEVICE_TYPE
  }
  const size_t count = registered_count.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    if (registered[i].number == static_cast<int>(type)) return registered[i].name;
  }
  return nullptr;
}

Error register_device_type(const char* name, int number) {
  if (number < kFirstPrivateDeviceType || number > INT8_MAX) return Error::kInvalidArgument;
  if (name == nullptr || !is_type_name(name, std::strlen(name))) return Error::kInvalidArgument;
  const RegistrationLock lock;
  for (size_t i = 0; i < count_device_types(); ++i) {
    const DeviceType type = device_type_at(i);
    const bool same_name = std::strcmp(to_string(type), name) == 0;
    const bool same_number = static_cast<int>(type) == number;
    if (same_name && same_number) return Error::kOk;
    if (same_name || same_number) return Error::kRegistrationAlreadyRegistered;
  }
  const size_t count = registered_count.load(std::memory_order_relaxed);
  if (count == kMostRegisteredDeviceTypes) return Error::kOutOfResources;
  RegisteredType& entry = registered[count];
  std::strcpy(entry.name, name);
  entry.number = number;
  std::snprintf(entry.names, sizeof entry.names, "%s, %s", device_type_names(), name);
  registered_count.store(count + 1, std::memory_order_release);
  return Error::kOk;
}

size_t count_device_types() { return kBuiltIn + registered_count.load(std::memory_order_acquire); }

DeviceType device_type_at(size_t i) {
  return i < kBuiltIn ? kBuiltInDeviceTypes[i] : static_cast<DeviceType>(registered[i - kBuiltIn].number);
}

const char* device_type_names() {
  const size_t count = registered_count.load(std::memory_order_acquire);
  return count == 0 ? kCommaNames + 2 : registered[count - 1].names;
}

Result<Device> parse_device(const char* text, size_t size) {
  size_t name = 0;
  while (name < size && text[name] != ':') ++name;
  for (size_t i = 0; i < count_device_types(); ++i) {
    const DeviceType type = device_type_at(i);
    if (!equal_without_case(text, name, to_string(type))) continue;
    if (name == size) return Device(type);
    const Result<DeviceIndex> index = parse_index(text + name + 1, size - name - 1);
    if (!index.ok()) return index.error();
    return Device(type, *index);
  }
  return Error::kNotFound;
}

bool names_unregistered_type(const char* text, size_t size) {
  size_t name = 0;
  while (name < size && text[name] != ':') ++name;
  if (!is_type_name(text, name) || parse_device(text, size).ok()) return false;
  if (parse_device(text, name).ok()) return false;  // the type is known, the index is wrong
  return name < size && parse_index(text + name + 1, size - name - 1).ok();
}

DeviceText to_text(Device device) {
  DeviceText out = {};
  const char* name = to_string(device.type);
  if (device == Device()) {
    std::snprintf(out.text, sizeof out.text, "cpu");
  } else if (name != nullptr) {
    std::snprintf(out.text, sizeof out.text, "%s:%d", name, device.index);
  } else {
    std::snprintf(out.text, sizeof out.text, "type %d:%d", static_cast<int>(device.type), device.index);
  }
  return out;
}

}  // namespace berth
