// The plan without any sharing: every storage has bytes of its own.
#pragma once

#include "compiler/plan/plan.h"

namespace berth::plan {

/// Lays each space's storages one behind the other in the problem's order, above all that are fixed. O(n).
/// InvalidArgument for a malformed problem. Collisions between fixed storages and capacities are not looked at
/// (validate.h does).
Expected<Plan> plan_naive(const Problem& problem);

}  // namespace berth::plan
