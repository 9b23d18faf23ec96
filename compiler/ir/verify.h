// The IR's verifier: what every pass may rely on and must keep.
#pragma once

#include "base/failure.h"
#include "compiler/ir/module.h"

namespace berth::ir {

/// Checks every method: names unique, values defined once and before use (regions see outer values), arguments as the
/// schema says, types of results as the shape rules say, constants as large as their types, states known, ranges of
/// symbols sane, calls of delegates closed over everything but constants. Says nothing of where values live: that is
/// verify_devices.h. The failure's place names method and node.
Status verify(Module& module);

}  // namespace berth::ir
