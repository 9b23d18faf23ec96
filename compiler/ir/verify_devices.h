// What holds of devices once nodes are placed, for the code that turns the IR into a program.
#pragma once

#include "base/failure.h"
#include "compiler/ir/module.h"

namespace berth::ir {

/// Checks every method: what a delegate reads and gives, and every value in its region, lives on the delegate's device
/// (constants are the delegate's own copies and stay on the cpu in the IR); a copy goes from the cpu to a device (h2d),
/// from a device to the cpu (d2h) or between devices of one type (d2d); a state is read and written where it lives;
/// every other node reads and gives tensors on the cpu. Inputs and outputs of methods may live anywhere. The failure
/// names the node and the value. REQUIRES: verify(module) is ok.
Status verify_devices(const Module& module);

}  // namespace berth::ir
