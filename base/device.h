// Device: where memory lives. Written `cpu`, `cuda:0`, `sim:1`.
#pragma once

#include <cstdint>

namespace berth {

/// The numbers stand in program files. ExecuTorch's own are 0 and 1; private numbers start at 100.
enum class DeviceType : int8_t {
  kCpu = 0,
  kCuda = 1,
  kSim = 100,
};

using DeviceIndex = int8_t;

struct Device {
  DeviceType type = DeviceType::kCpu;
  DeviceIndex index = 0;

  constexpr Device() = default;
  constexpr Device(DeviceType device_type, DeviceIndex device_index = 0) : type(device_type), index(device_index) {}

  constexpr bool is_cpu() const { return type == DeviceType::kCpu; }
  friend constexpr bool operator==(Device a, Device b) { return a.type == b.type && a.index == b.index; }
  friend constexpr bool operator!=(Device a, Device b) { return !(a == b); }
};

/// "cpu", "cuda", "sim"; null for a number that names no device type.
const char* to_string(DeviceType type);

}  // namespace berth
