// Where a delegate of a program file computes.
#pragma once

#include "base/target_device.h"
#include "format/program_view.h"

namespace berth::format {

/// What the delegate's compile specs say, by the rule of base/target_device.h. Specs that are missing in a damaged file
/// say nothing.
TargetDevice target_device(const fb::BackendDelegate& delegate);

}  // namespace berth::format
