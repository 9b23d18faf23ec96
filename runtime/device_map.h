// DeviceMap: replaces a program's devices at load, such as "cuda:0" in the file by "cuda:1" on this machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/error.h"

namespace berth {

/// A program whose file says `from` uses `to`.
struct DeviceMapping {
  Device from;
  Device to;
};

/// A small set of mappings. Each device is mapped once, so a→b with b→a swaps two devices. Copied by value.
class DeviceMap {
 public:
  static constexpr size_t kMax = 8;

  /// InvalidArgument when either device is the host, an index is negative, or `from` is mapped already; OutOfResources
  /// when there are kMax mappings.
  Error add(DeviceMapping mapping) {
    if (mapping.from.is_cpu() || mapping.to.is_cpu() || mapping.from.index < 0 || mapping.to.index < 0) {
      return Error::kInvalidArgument;
    }
    for (size_t i = 0; i < count_; ++i) {
      if (entries_[i].from == mapping.from) return Error::kInvalidArgument;
    }
    if (count_ == kMax) return Error::kOutOfResources;
    entries_[count_++] = mapping;
    return Error::kOk;
  }

  /// The device to use for `device` of the file.
  Device operator()(Device device) const {
    for (size_t i = 0; i < count_; ++i) {
      if (entries_[i].from == device) return entries_[i].to;
    }
    return device;
  }

 private:
  DeviceMapping entries_[kMax] = {};
  uint8_t count_ = 0;
};

}  // namespace berth
