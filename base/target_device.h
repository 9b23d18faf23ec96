// TargetDevice: the device that a delegate runs on, read from its compile specs. The compiler, the checks of program
// files and the runtime all use this reader:
//
//   no spec "target_device"                  the host
//   one, or the same device several times    that device
//   two devices that differ                  refused
//   a value that is not a device             refused, wherever among the specs it is
//   a device of a type that is not           refused where the device matters: unregistered() says so to those who only
//   registered here, "npu:0"                 look at the file
//
// A device is what parse_device() accepts; the host's only index is 0. The inputs and outputs of a delegate live on its
// device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"

namespace berth {

/// The key of the compile spec, ExecuTorch's name.
inline constexpr char kTargetDevice[] = "target_device";

class TargetDevice {
 public:
  /// Reads the next compile spec of the delegate; other keys are ignored. `value` is `size` bytes of text without a
  /// final zero, and may be null when `size` is 0. Returns ok(). REQUIRES: `key` is null-terminated.
  bool read(const char* key, const void* value, size_t size);

  /// Whether the specs that were read agree on a device.
  bool ok() const { return message_[0] == '\0'; }
  /// REQUIRES: ok().
  Device device() const { return device_; }
  /// The device of a type that is not registered here (register_device_type), if that is all that is wrong: "npu:0".
  /// Empty otherwise.
  const char* unregistered() const { return unregistered_; }
  /// What is wrong, in a sentence that names the key and the values; "" when ok().
  const char* message() const { return message_; }

 private:
  Device device_;
  bool said_ = false;
  char unregistered_[sizeof(DeviceText)] = "";
  char message_[256] = "";
};

}  // namespace berth
