// The judge of plans: simpler than the planners, and sharing nothing with them.
#pragma once

#include "compiler/memory/packing/plan.h"

namespace berth::packing {

/// Whether `plan` answers `problem`: one offset a buffer, non-negative, aligned, as fixed; no two buffers of one
/// space that are alive in the same step share a byte; the heights say what the buffers take and stay within the
/// capacities, and are not below the lower bounds; a candidate that is taken has `from` where it says, and its whole
/// all-or-none group is taken. Two buffers of a candidate that is taken may share bytes; a `from` has the largest
/// alignment of the candidates that move it, or its own. Internal with the first fault otherwise; an overlap names both
/// buffers, their bytes and a common step.
///
/// Any problem, malformed ones included. O(n^2) for few buffers, O(n log n) for many (overlaps.h).
Status validate(const Problem& problem, const Plan& plan);

}  // namespace berth::packing
