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
  if (std::strcmp(key, kTargetDevice) != 0) return ok();
  // Unless all values are one text, more is wrong than that its type is not registered.
  const bool same = size == std::strlen(unregistered_) && size > 0 && std::memcmp(unregistered_, value, size) == 0;
  if (!same) unregistered_[0] = '\0';
  if (!ok()) return false;
  const char* text = size == 0 ? "" : static_cast<const char*>(value);
  const Result<Device> found = parse_device(text, size);
  if (!found.ok() || (found->is_cpu() && *found != Device())) {
    std::snprintf(message_, sizeof message_,
                  "%s \"%s\" is not a device; expected one of the types %s, all but cpu with an index from 0 to 127 as "
                  "in cuda:0",
                  kTargetDevice, Shown(text, size).text, device_type_names());
    if (!said_ && size < sizeof unregistered_ && names_unregistered_type(text, size)) {
      std::memcpy(unregistered_, text, size);
      unregistered_[size] = '\0';
    }
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
