#include "base/device.h"

namespace berth {

const char* to_string(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu: return "cpu";
    case DeviceType::kCuda: return "cuda";
    case DeviceType::kSim: return "sim";
  }
  return nullptr;
}

}  // namespace berth
