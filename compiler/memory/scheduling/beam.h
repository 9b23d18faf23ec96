// The search of stretches that are too large for an exact one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/scheduling/stretch.h"

namespace berth::scheduling {

/// The best order that a beam of `width` orders finds: after each task those stay whose peak is the least, then those
/// with the fewest bytes alive. Empty when none has a peak below `below`, or the deadline has passed.
std::vector<int32_t> search_beam(const Stretch& stretch, int64_t below, int32_t width, Deadline* deadline);

}  // namespace berth::scheduling
