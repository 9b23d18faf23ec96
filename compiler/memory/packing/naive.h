// The plan without any sharing: every buffer has bytes of its own.
#pragma once

#include "compiler/memory/packing/plan.h"

namespace berth::packing {

/// Lays each space's buffers one behind the other in the problem's order, above all that are fixed. O(n).
/// InvalidArgument for a malformed problem. Collisions between fixed buffers and capacities are not looked at
/// (validate.h does).
Expected<Plan> plan_naive(const Problem& problem);

}  // namespace berth::packing
