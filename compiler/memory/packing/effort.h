// Effort: what the searches of one plan may still spend, and the type of the functions that spend it.
#pragma once

#include <cstdint>

#include "base/deadline.h"
#include "compiler/memory/packing/placement.h"

namespace berth::packing {

/// Shared by all spaces and selections of candidates of one plan.
struct Effort {
  int64_t nodes = 0;  // left
  int64_t used = 0;
  int64_t local_search = 0;  // what local search may cost for each layout, in pairs of bodies: not shared
  Deadline deadline;         // what takes long asks it from inside, and gives up when it has passed
  int64_t enough = 0;        // bytes: a placement that is no higher needs no improvement

  /// Whether nothing more is to be done for a layout that has this placement.
  bool is_enough(const BoundedPlacement& best) {
    return best.optimal() || best.placement.height <= enough || deadline.passed();
  }

  /// Whether the deadline passes before the bodies of a layout have been sorted, which is not cut short.
  bool is_over_after_sorting(const Layout& layout) {
    return deadline.passes_within(400 * static_cast<int64_t>(layout.bodies.size()));
  }

  /// Counts nodes.
  void spend(int64_t count) {
    used += count;
    nodes -= count;
  }
};

/// Returns `best`, or a lower placement of the layout, perhaps with a higher bound.
using Improver = BoundedPlacement (*)(const Layout& layout, BoundedPlacement best, Effort* effort);

}  // namespace berth::packing
