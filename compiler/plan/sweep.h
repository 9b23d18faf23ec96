// The sweep: walk through time once and give each storage, when it is born, the best free bytes.
#pragma once

#include "compiler/plan/plan.h"

namespace berth::plan {

/// Each birth takes the smallest free run of bytes that holds it (the lowest of equal ones), each death gives its run
/// back; of storages born in one step the larger comes first, then the longer alive. O(n log n), however many are alive
/// together, so it is the planner for huge problems.
/// NotSupported when a storage has a fixed offset: the sweep does not look ahead. InvalidArgument for a malformed
/// problem. Capacities are not looked at.
Expected<Plan> plan_sweep(const Problem& problem);

}  // namespace berth::plan
