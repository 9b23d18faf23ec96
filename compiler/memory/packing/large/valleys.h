// Valleys: what lies between the peaks, packed beside cores that have their place.
#pragma once

#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/packing/large/peaks.h"
#include "compiler/memory/packing/placement.h"

namespace berth::packing {

/// Places the bodies that have no position yet: in the valley before each peak, and in that behind the last. Two sweeps
/// (sweep.h) go through each valley, one forward from the core on its left, one backward from the core on its right,
/// and end in its emptiest section; what lives across that comes last, into the tightest hole that is free all its
/// life. `loads`: of each section; `by_birth` as in peaks.h. False when too many live across, or the deadline has
/// passed.
bool place_valleys(const Layout& layout, const std::vector<int64_t>& loads, const std::vector<int32_t>& by_birth,
                   const std::vector<Peak>& peaks, Deadline* deadline, Placement* placement);

}  // namespace berth::packing
