// The IR's verifier: what every pass may rely on and must keep.
#pragma once

#include "base/failure.h"
#include "compiler/ir/module.h"

namespace berth::ir {

/// Checks every method: names are unique; values are defined once and before use (regions see outer values); arguments
/// fit the schema, types of results the shape rules, and constants their types; states exist; ranges of symbols are not
/// empty; the region of a delegate uses no outer value but constants. Devices are checked by verify_devices.h. The
/// place of a failure names method and node.
Status verify(Module& module);

}  // namespace berth::ir
