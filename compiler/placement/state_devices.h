// Where state lives.
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace berth::placement {

/// The device of each state of the module: that of the delegates that read and write it, when they are on one device
/// and nothing else does, in all methods; the device of its type otherwise. REQUIRES: ir::verify(module) is ok.
IdVector<ir::StateId, Device> state_devices(const ir::Module& module);

}  // namespace berth::placement
