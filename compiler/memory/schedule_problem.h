// The schedule of a method as a problem: tasks and the buffers between them (compiler/memory/scheduling).
#pragma once

#include "compiler/memory/model.h"
#include "compiler/memory/scheduling/problem.h"

namespace berth::memory {

/// The nodes of `method`'s body as tasks, its buffers as buffers. Reads and writes of state, copies between devices and
/// nodes with regions keep their order among each other. REQUIRES: `model` is the method's, made with `set`.
scheduling::Problem schedule_problem(const ir::Module& module, const ir::Method& method, const MemoryModel& model,
                                     const InPlaceSet& set);

/// Whether schedule_problem() says all that a plan may share, so that its bounds hold for plans: no part may lie in a
/// whole, and no node has branches or loops, whose values it counts as alive together.
bool is_schedule_exact(const ir::Method& method);

}  // namespace berth::memory
