// How many compile specs a delegate may have: the runtime keeps room for as many while it loads one, and the compiler
// makes no delegate with more. base/delegate_specs.h and base/target_device.h say what Berth's own specs mean.
#pragma once

#include <cstddef>

namespace berth {

inline constexpr size_t kMostCompileSpecs = 32;

}  // namespace berth
