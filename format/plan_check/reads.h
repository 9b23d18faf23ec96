// Reads of the sweep, which goes backward: what an instruction reads is live before it.
#pragma once

#include "format/plan_check/sweep_state.h"

namespace berth::format::plan_check {

/// The current instruction reads the item.
inline void mark_read(SweepState& state, int32_t item) {
  state.live.insert(item);
  state.reader[item] = state.now;
}

/// It reads the value: its own item, or its parts, and whatever it may be a second name of. False when the budget ends
/// or the parts do not make all of it: stopped() says which.
bool read_value(SweepState& state, int32_t value);

}  // namespace berth::format::plan_check
