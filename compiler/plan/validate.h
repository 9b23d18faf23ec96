// The judge of plans: simpler than the planners, and sharing nothing with them.
#pragma once

#include "compiler/plan/plan.h"

namespace berth::plan {

/// Whether `plan` answers `problem`: one offset a storage, non-negative, aligned, as fixed; no two storages of one
/// space that are alive in the same step share a byte; the heights say what the storages take and stay within the
/// capacities. Internal with the first fault otherwise; an overlap names both storages, their bytes and a common step.
///
/// A sweep over births and deaths that keeps what is alive sorted by offset: as long as no two overlap, a newcomer can
/// only overlap its neighbours. O(n log n), any problem, malformed ones included.
Status validate(const Problem& problem, const Plan& plan);

}  // namespace berth::plan
