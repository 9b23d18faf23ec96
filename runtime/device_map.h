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
  /// The method that it is for, null-terminated; null: every method that has no mapping of `from` of its own.
  const char* method = nullptr;
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
    entries_[count_++] = {mapping.from, mapping.to};
    return Error::kOk;
  }

  bool maps(Device device) const {
    for (size_t i = 0; i < count_; ++i) {
      if (entries_[i].from == device) return true;
    }
    return false;
  }

  /// The device to use for `device` of the file.
  Device operator()(Device device) const {
    for (size_t i = 0; i < count_; ++i) {
      if (entries_[i].from == device) return entries_[i].to;
    }
    return device;
  }

 private:
  struct Entry {
    Device from;
    Device to;
  };
  Entry entries_[kMax] = {};
  uint8_t count_ = 0;
};

/// The mappings of all methods of a program.
class ProgramDeviceMap {
 public:
  /// Of a mapping for every method.
  static constexpr int kEveryMethod = -1;

  /// Errors as DeviceMap::add(); a device may be mapped once for each method besides.
  Error add(int method, Device from, Device to) {
    if (from.is_cpu() || to.is_cpu() || from.index < 0 || to.index < 0) return Error::kInvalidArgument;
    for (size_t i = 0; i < count_; ++i) {
      if (entries_[i].from == from && entries_[i].method == method) return Error::kInvalidArgument;
    }
    if (count_ == DeviceMap::kMax) return Error::kOutOfResources;
    entries_[count_++] = {from, to, method};
    return Error::kOk;
  }

  /// Whether some mapping is for one method.
  bool has_own() const {
    for (size_t i = 0; i < count_; ++i) {
      if (entries_[i].method != kEveryMethod) return true;
    }
    return false;
  }

  DeviceMap of(size_t method) const {
    DeviceMap map;
    for (const int wanted : {static_cast<int>(method), kEveryMethod}) {
      for (size_t i = 0; i < count_; ++i) {
        const Entry& entry = entries_[i];
        if (entry.method == wanted && !map.maps(entry.from)) static_cast<void>(map.add({entry.from, entry.to}));
      }
    }
    return map;
  }

 private:
  struct Entry {
    Device from;
    Device to;
    int method = kEveryMethod;
  };
  Entry entries_[DeviceMap::kMax] = {};
  uint8_t count_ = 0;
};

}  // namespace berth
