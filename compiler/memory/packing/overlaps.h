// Whether buffers share bytes that must not.
#pragma once

#include <vector>

#include "compiler/memory/packing/plan.h"

namespace berth::packing {

/// Of each buffer: those that it may share bytes with, as a candidate of the two is taken.
using Partners = std::vector<std::vector<size_t>>;

/// Internal, with both buffers, their bytes and a common step, when two buffers of one space that are alive in the same
/// step share a byte and are not partners. Compares each pair where there are few buffers; many are swept.
/// REQUIRES: offsets and sizes are not negative, and no end overflows.
Status check_overlaps(const Problem& problem, const Plan& plan, const Partners& partners);

}  // namespace berth::packing
