// Writes of the sweep: none may lie over bytes that are still to be read.
#pragma once

#include "format/plan_check/access.h"
#include "format/plan_check/sweep_state.h"

namespace berth::format::plan_check {

/// The current instruction writes the value; what it wholly writes is live no more. `keep`: only look; what is written
/// stays in the set. InvalidProgram with both values and the reader when bytes of another item are still to be read.
Error write_value(SweepState& state, int32_t value, WriteKind kind, bool keep = false);

}  // namespace berth::format::plan_check
