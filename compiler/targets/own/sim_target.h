// The target `sim`: delegates on the simulated device, for SimBackend (backends/sim/sim_backend.h), whose kernels are
// the portable ones.
#pragma once

#include "base/device.h"
#include "plugin/target.h"

namespace berth::targets::own {

class SimTarget final : public plugin::NestedTarget {
 public:
  SimTarget() : NestedTarget("sim", "berth.sim", static_cast<int32_t>(DeviceType::kSim)) {
    take_all();
    table_.fuses = 1;
  }
};

}  // namespace berth::targets::own
