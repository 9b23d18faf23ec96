// The device of a delegate in a program file.
#pragma once

#include "base/target_device.h"
#include "format/program_view.h"

namespace berth::format {

/// Reads the delegate's compile specs by the rules of base/target_device.h. Entries that are null in a damaged file are
/// ignored.
TargetDevice target_device(const fb::BackendDelegate& delegate);

}  // namespace berth::format
