// TargetDevice: where a delegate computes, read from its compile specs. The one reader for models, program files and
// the runtime, so that all of them answer alike:
//
//   no spec "target_device"                  the host
//   one, or the same device several times    that device
//   two devices that differ                  refused
//   a value that is not a device             refused, wherever among the specs it stands
//
// A device is what parse_device() reads; the host has no index but 0. What a delegate is given and gives lives there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"

namespace berth {

/// The key of the compile spec, ExecuTorch's name.
inline constexpr char kTargetDevice[] = "target_device";

class TargetDevice {
 public:
  /// Reads the next compile spec of the delegate; those with other keys say nothing. `value` is `size` bytes of text
  /// without a final zero, and may be null when there are none. Returns ok(). REQUIRES: `key` ends with a zero.
  bool read(const char* key, const void* value, size_t size);

  /// Whether the specs that were read agree on a device.
  bool ok() const { return message_[0] == '\0'; }
  /// REQUIRES: ok().
  Device device() const { return device_; }
  /// What is wrong, in a sentence that names the key and the values; "" when ok().
  const char* message() const { return message_; }

 private:
  Device device_;
  bool said_ = false;
  char message_[176] = "";
};

}  // namespace berth
