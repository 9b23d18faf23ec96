// Device: where memory lives. Written `cpu`, `cuda:0`, `sim:1`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace berth {

// The device types, each with its name and its number in program files, which never changes: ExecuTorch's own are 0 and
// 1, private ones start at 100. format/program.fbs has the same numbers; a test compares them.
#define BERTH_DEVICE_TYPES(TYPE) \
  TYPE(kCpu, "cpu", 0) \
  TYPE(kCuda, "cuda", 1) \
  TYPE(kSim, "sim", 100)

enum class DeviceType : int8_t {
#define BERTH_DEVICE_TYPE(type, name, number) type = number,
  BERTH_DEVICE_TYPES(BERTH_DEVICE_TYPE)
#undef BERTH_DEVICE_TYPE
};

inline constexpr DeviceType kDeviceTypes[] = {
#define BERTH_DEVICE_TYPE(type, name, number) DeviceType::type,
    BERTH_DEVICE_TYPES(BERTH_DEVICE_TYPE)
#undef BERTH_DEVICE_TYPE
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
