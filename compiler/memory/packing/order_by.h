// The orders in which planners take the bodies of a layout.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/layout.h"

namespace berth::packing {

/// Which bodies come first. Ties: the larger, then the longer alive, then the earlier born, then the earlier in the
/// problem. A body of several pieces has the sums of their sizes and areas.
enum class Key : uint8_t {
  kSize,        // the largest
  kArea,        // the most bytes × steps
  kLife,        // the longest alive
  kLoad,        // greedy by breadth: the most bytes alive in one of its sections; of equal ones the earlier born
  kNeighbours,  // the most bytes of all that it is ever alive with
  kBirth,       // the first born
  kDeath,       // the last to die
  kGiven,       // the first in the problem: first fit is then never higher than naive
};
inline constexpr Key kAllKeys[] = {Key::kSize,       Key::kArea,  Key::kLife,  Key::kLoad,
                                   Key::kNeighbours, Key::kBirth, Key::kDeath, Key::kGiven};

/// The bodies of `layout` by `key`, the fixed ones before all others.
std::vector<int32_t> order_by(const Layout& layout, Key key);

}  // namespace berth::packing
