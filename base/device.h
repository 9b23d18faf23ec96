// Device: where memory lives. Written `cpu`, `cuda:0`, `sim:1`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace berth {

// The built-in device types, each with its name and its number in program files, which never changes: ExecuTorch's own
// are 0 and 1, private ones start at 100, and those below are Berth's. format/program.fbs has the same numbers; a test
// compares them. An application adds its own with register_device_type().
#define BERTH_DEVICE_TYPES(TYPE) \
  TYPE(kCpu, "cpu", 0) \
  TYPE(kCuda, "cuda", 1) \
  TYPE(kVulkan, "vulkan", 99) \
  TYPE(kSim, "sim", 100)

enum class DeviceType : int8_t {
#define BERTH_DEVICE_TYPE(type, name, number) type = number,
  BERTH_DEVICE_TYPES(BERTH_DEVICE_TYPE)
#undef BERTH_DEVICE_TYPE
};

inline constexpr DeviceType kBuiltInDeviceTypes[] = {
#define BERTH_DEVICE_TYPE(type, name, number) DeviceType::type,
    BERTH_DEVICE_TYPES(BERTH_DEVICE_TYPE)
#undef BERTH_DEVICE_TYPE
};

/// Numbers from here to 127 are for applications: register_device_type().
inline constexpr int kFirstPrivateDeviceType = 100;
inline constexpr size_t kMostRegisteredDeviceTypes = 8;
inline constexpr size_t kLongestDeviceTypeName = 11;

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

/// "cpu", "cuda", "vulkan", "sim", or the name that the type was registered with; null for any other number.
const char* to_string(DeviceType type);

/// Adds a device type for the whole process: the compiler, the checks of program files and the runtime then take `name`
/// and `number` for each other. A program stores the number, so it must never change once programs are shipped.
///
/// InvalidArgument for a number outside kFirstPrivateDeviceType to 127, or a name that is not 1 to
/// kLongestDeviceTypeName lower-case letters, digits and underscores that begin with a letter;
/// RegistrationAlreadyRegistered when the name or the number belongs to another type (both as they are: kOk, nothing
/// changes); OutOfResources beyond kMostRegisteredDeviceTypes. Thread-safe; types are never removed. Uses no heap.
Error register_device_type(const char* name, int number);

/// The types with a name: count_device_types() of them, the built-in ones first, then others in the order of their
/// registration.
size_t count_device_types();
/// REQUIRES: i < count_device_types().
DeviceType device_type_at(size_t i);

/// All of them, for messages: "cpu, cuda, vulkan, sim". Stays as it is, also when a type is registered later.
const char* device_type_names();

/// "cuda:0", "CUDA:1", "cpu": a type, in any case, and an index from 0 to 127 in decimal digits; without one it is 0.
/// NotFound for an unknown type; InvalidArgument for other malformed text, such as "cuda:-1", "cuda:300", "cuda:" or
/// "cuda:01".
Result<Device> parse_device(const char* text, size_t size);

/// Whether `text` is a device of a type that is not registered here but may be elsewhere: "npu:0". Such files can be
/// checked and shown, not run.
bool names_unregistered_type(const char* text, size_t size);

/// Room for the text of any device.
struct DeviceText {
  char text[16];
};
/// "cuda:0"; "cpu" for the host; "type 7:0" when the type has no name.
DeviceText to_text(Device device);

}  // namespace berth
