// Where an element of a packed weight lies: its place is a sum of one number a dimension.
#pragma once

#include "kernels/cpu/packing_layout.h"

namespace berth::cpu {

/// What position `position` of dimension `d` adds to the place, in elements. REQUIRES: d < layout.dims.
int64_t packing_offset(const WeightLayout& layout, int d, int64_t position);

}  // namespace berth::cpu
