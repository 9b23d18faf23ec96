// The judge of plans: simpler than the planners, and sharing nothing with them.
#pragma once

#include "compiler/plan/plan.h"

namespace berth::plan {

/// Whether `plan` answers `problem`: one offset a storage, non-negative, aligned, as fixed; no two storages of one
/// space that are alive in the same step share a byte; the heights say what the storages take and stay within the
/// capacities, and are not below the lower bounds; a merge that is taken has `from` where it says, and its whole
/// all-or-none group is taken. Two storages of a merge that is taken may share bytes; a `from` has the largest
/// alignment of the merges that move it, or its own. Internal with the first fault otherwise; an overlap names both
/// storages, their bytes and a common step.
///
/// A sweep over births and deaths that keeps what is alive sorted by offset. As long as only partners of a merge
/// overlap, a newcomer that overlaps any other storage overlaps the next ones of that order, which begin inside it, the
/// one before it, or a partner of that one. O(n log n) beside the merges, any problem, malformed ones included.
Status validate(const Problem& problem, const Plan& plan);

}  // namespace berth::plan
