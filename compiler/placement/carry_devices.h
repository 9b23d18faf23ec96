// carry_devices: leaves on a device what branches give there and loops carry, slice and stack there, so that it does
// not cross to the host and back in each turn.
//
//     %h = scan { (%c) … %b = delegate on cuda:0([%c]) … yield %b }      %c and %h live on cuda:0: no copy in the loop
//     %y = scan [%x] { (%s) … %b = delegate on cuda:0([%s]) … yield %b }
//                                                                        %x is copied there once, %y back once
//     %r = if { … yield %a of cuda:0 } { … yield %b of cuda:0 }          %r lives there when a delegate there reads it
//
// A value moves when its place on the device takes fewer copies in a turn (of a branch: in a run) than on the host, or
// as many and fewer before and after the loop. Copies are counted as insert_copies makes them, one a value and device.
// What is sliced or stacked moves as a whole, and only if its slices have constant sizes.
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace berth::placement {

/// Sets the devices of results of branches and loops, of slices, and of what stands for them in their regions.
/// `outputs`: where each output of the method is to live. Returns whether anything changed. REQUIRES: every other value
/// has its device, and those of branches and loops are on the host.
bool carry_on_devices(ir::Method* method, const ir::Module& module, const std::vector<Device>& outputs);

}  // namespace berth::placement
