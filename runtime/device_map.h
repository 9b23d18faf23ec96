// DeviceMap: a program's devices, renamed at load: the compiler fixed "cuda:0", this machine has a better "cuda:1".
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/error.h"

namespace berth {

/// Where the file says `from`, the program uses `to`.
struct DeviceMapping {
  Device from;
  Device to;
};

/// A handful of mappings, applied once each: with a→b and b→a two devices change places. Copied by value.
class DeviceMap {
 public:
  static constexpr size_t kMax = 8;

  /// InvalidArgument when the host is mapped, or something to it, or an index is negative, or `from` is mapped already;
  /// OutOfResources when there is no room.
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

  /// What `device` of the file is here.
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
