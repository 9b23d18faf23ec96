// The sweep: walk through time once and give each buffer, when it is born, the best free bytes.
#pragma once

#include "compiler/memory/packing/placement.h"
#include "compiler/memory/packing/plan.h"

namespace berth::packing {

/// Each birth takes the smallest free run of bytes that holds it (the lowest of equal ones), each death gives its run
/// back; of bodies born in one section the larger comes first, then the longer alive. O(n log n) and O(r) short moves a
/// body for r free runs, so it is the planner for huge problems. A body of several pieces is taken as their bounding
/// box. REQUIRES: no body is fixed: the sweep does not look ahead.
Placement place_by_sweep(const Layout& layout);

/// A whole plan, each space by itself, no candidate taken.
/// NotSupported when a buffer has a fixed offset. InvalidArgument for a malformed problem. Capacities are not looked
/// at.
Expected<Plan> plan_sweep(const Problem& problem);

}  // namespace berth::packing
