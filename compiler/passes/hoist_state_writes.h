// hoist_state_writes: takes writes of state out of branches and loops, which the planner knows at a method's end alone.
//
//     if %c {                              %old = state_read @s
//       …                                  %new = if %c {
//       state_write(%v) @s           →       …
//       yield                                yield %v
//     } {                                  } {
//       yield                                yield %old
//     }                                    }
//                                          state_write(%new) @s
//
// The branch that does not write gives what was written before it, or else what the state had when the method began. In
// a loop the value is carried. Reads give what the state had when the method began, wherever they stand. Where the
// condition of a `while` writes, the method is left alone, and memory planning refuses it by name.
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

Expected<Changed> hoist_state_writes(ir::Module& module, const Options& options);

}  // namespace berth::passes
