// propagate_devices: writes the device on every value.
//
// What a delegate reads and gives, and all in its region, lives on its device; everything else lives on the cpu. But
//
//   inputs    live where their types say, or where the options say
//   outputs   live on the cpu, but where their types or the options say otherwise
//   state     lives on a device when delegates there alone read and write it, in all methods; else where its type says
//   what branches give and loops carry, slice and stack lives where that takes the fewest copies (carry_devices.h)
//
// A value has one home: the device of what makes it. Who reads it elsewhere reads a copy (insert_copies.h).
#pragma once

#include <vector>

#include "compiler/passes/pass.h"
#include "compiler/placement/options.h"

namespace berth::placement {

/// Where each output of each method is to live; empty until propagate_devices() ran. What it says to insert_copies().
using OutputDevices = std::vector<std::vector<Device>>;

/// `--why propagate_devices`: a line for each state on a device and each call of a delegate. InvalidArgument for a
/// device-io that names no tensor among inputs and outputs, with those that there are; for two that differ.
Expected<passes::Changed> propagate_devices(ir::Module& module, const Options& options,
                                            const passes::Options& pass_options, OutputDevices* outputs);

}  // namespace berth::placement
