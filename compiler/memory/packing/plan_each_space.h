// A whole plan of one planner that takes no candidates.
#pragma once

#include <functional>

#include "compiler/memory/packing/placement.h"
#include "compiler/memory/packing/plan.h"

namespace berth::packing {

/// A plan in which each space is placed by `place`, without any candidate, with the lower bounds of bound.h. REQUIRES:
/// check(problem) and check_fixed(problem) are ok.
Plan plan_each_space(const Problem& problem, const std::function<Placement(const Layout&)>& place);

}  // namespace berth::packing
