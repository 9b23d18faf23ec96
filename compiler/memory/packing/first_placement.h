// The first placement of a layout, which all others improve.
#pragma once

#include <optional>

#include "compiler/memory/packing/placement.h"

namespace berth::packing {

/// By the sweep, in about O(n log n), or with fixed bodies greedily by size. Nothing when fixed bodies collide. `bound`
/// is a lower bound of the layout.
std::optional<BoundedPlacement> first_placement(const Layout& layout, int64_t bound);

}  // namespace berth::packing
