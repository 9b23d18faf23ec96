#include "base/target_device.h"

#include <cstdio>
#include <cstring>

namespace berth {
namespace {

/// The beginning of a value, for a message, with unprintable characters as dots.
struct Shown {
  char text[36] = "";

  Shown(const char* value, size_t size) {
    constexpr size_t kMost = 32;
    size_t n = 0;
    for (; n < size && n < kMost; ++n) text[n] = value[n] >= ' ' && value[n] <= '~' ? value[n] : '.';
    std::strcpy(text + n, size > kMost ? "..." : "");
  }
};

}  // namespace

bool TargetDevice::read(const char* key, const void* value, size_t size) {
  if (!ok() || std::strcmp(key, kTargetDevice) != 0) return ok();
  const char* text = size == 0 ? "" : static_cast<const char*>(value);
  const Result<Device> found = parse_device(text, size);
  if (!found.ok() || (found->is_cpu() && *found != Device())) {
    std::snprintf(message_, sizeof message_,
                  "%s \"%s\" is not a device; expected one of the types %s, all but cpu with an index from 0 to 127 as "
                  "in cuda:0",
                  kTargetDevice, Shown(text, size).text, kDeviceTypeNames);
  } else if (said_ && *found != device_) {
    std::snprintf(message_, sizeof message_, "%s is both %s and %s; expected one device", kTargetDevice,
                  to_text(device_).text, to_text(*found).text);
  } else {
    said_ = true;
    device_ = *found;
  }
  return ok();
}

}  // namespace berth
