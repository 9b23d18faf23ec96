// A target as a plug-in, an application or this repository describes it, for the compiler.
#pragma once

#include "compiler/targets/target.h"

namespace berth::targets {

/// The target that `from` describes, on device `index` of its type. `from` must outlive it. REQUIRES: a Plugin checked
/// `from`.
Target plugin_target(const berth_target& from, DeviceIndex index);

}  // namespace berth::targets
