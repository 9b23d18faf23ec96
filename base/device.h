// Device: where memory lives. Written `cpu`, `cuda:0`, `sim:1`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

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

/// All types, for messages: "cpu, cuda, sim".
extern const char* const kDeviceTypeNames;

/// "cuda:0", "CUDA:1", "cpu": a type, in any case, and an index from 0 to 127 in decimal digits; without one it is 0.
/// NotFound for an unknown type; InvalidArgument for other malformed text, such as "cuda:-1", "cuda:300", "cuda:" or
/// "cuda:01".
Result<Device> parse_device(const char* text, size_t size);

/// Room for the text of any device.
struct DeviceText {
  char text[16];
};
/// "cuda:0"; "cpu" for the host; "type 7:0" when the type has no name.
DeviceText to_text(Device device);

}  // namespace berth
