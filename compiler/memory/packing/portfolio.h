// The portfolio: every way to place the bodies of one layout, the lowest kept.
#pragma once

#include <cstdint>

#include "base/deadline.h"
#include "compiler/memory/packing/layout.h"

namespace berth::packing {

/// What the searches may still spend, shared by all spaces and selections of one plan.
struct Effort {
  int64_t nodes = 0;  // left
  int64_t used = 0;
  int64_t repair = 0;  // what order repair may cost for each layout, in pairs of bodies: not shared
  Deadline deadline;   // what takes long asks it from inside, and gives up when it has passed
  int64_t enough = 0;  // bytes: a placement that is no higher needs no improvement

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

/// A placement and what is known of all others of its layout.
struct Placed {
  Placement placement;
  int64_t bound = 0;  // no placement is lower

  bool optimal() const { return placement.height <= bound; }
};

/// A first placement in about O(n log n): by the sweep, or with fixed bodies greedily by size. False when fixed bodies
/// collide. `bound` is a lower bound of the layout.
bool place_quickly(const Layout& layout, int64_t bound, Placed* out);

/// Lowers *out by greedy placement in the orders of greedy.h, as many as a fixed number of pairs allows, until its
/// bound is met.
void improve_greedily(const Layout& layout, Effort* effort, Placed* out);

/// Places one layout: improves what place_quickly() made, or leaves it.
using Improver = void (*)(const Layout&, Effort*, Placed*);

/// The above and order repair, a fixed amount of it; no search.
void improve_without_search(const Layout& layout, Effort* effort, Placed* out);

/// Everything: the above and the searches, within `effort`.
void improve(const Layout& layout, Effort* effort, Placed* out);

}  // namespace berth::packing
