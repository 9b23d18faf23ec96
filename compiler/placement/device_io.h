// Which inputs and outputs of methods the user wants on devices.
#pragma once

#include <map>

#include "compiler/placement/options.h"

namespace berth::placement {

/// Of each method, by value: the device that the options name for that input or output. Failures as
/// propagate_devices().
Expected<std::vector<std::map<ir::ValueId, Device>>> find_device_io(const ir::Module& module,
                                                                    const std::vector<DeviceIo>& asked);

}  // namespace berth::placement
