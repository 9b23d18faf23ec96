#include "base/device.h"

#include <cstdio>

namespace berth {

namespace {

#define BERTH_DEVICE_TYPE(type, name, number) ", " name
constexpr char kCommaNames[] = BERTH_DEVICE_TYPES(BERTH_DEVICE_TYPE);
#undef BERTH_DEVICE_TYPE

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

const char* const kDeviceTypeNames = kCommaNames + 2;

const char* to_string(DeviceType type) {
  switch (type) {
#define BERTH_DEVICE_TYPE(type, name, number) \
  case DeviceType::type: return name;
    BERTH_DEVICE_TYPES(BERTH_DEVICE_TYPE)
#undef BERTH_DEVICE_TYPE
  }
  return nullptr;
}

Result<Device> parse_device(const char* text, size_t size) {
  size_t name = 0;
  while (name < size && text[name] != ':') ++name;
  for (const DeviceType type : kDeviceTypes) {
    if (!equal_without_case(text, name, to_string(type))) continue;
    if (name == size) return Device(type);
    const Result<DeviceIndex> index = parse_index(text + name + 1, size - name - 1);
    if (!index.ok()) return index.error();
    return Device(type, *index);
  }
  return Error::kNotFound;
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
