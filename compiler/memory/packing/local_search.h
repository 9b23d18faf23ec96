// Squeaky-wheel local search: moves bodies above the target height forward in the order, and packs again.
#pragma once

#include "compiler/memory/packing/effort.h"

namespace berth::packing {

/// Lowers `best` by squeaky-wheel optimisation (Joslin and Clements, "Squeaky Wheel Optimization", 1999): bodies are
/// placed bottom up in an order; each that ends above a line moves forward in the order by how far it sticks out, more
/// or less; and again, until it is optimal or the deadline passed. When that has led nowhere for a while it goes on
/// from the order that came out lowest, a little shuffled. The line is anywhere between `bound` and the lowest height
/// so far. Deterministic: the random seed is fixed. `work` counts what it may cost, in the pairs of bodies that are
/// looked at: about 4·10⁹ per second for up to kFewBodies rectangles, a few hundred million for others. When bodies are
/// fixed or of several pieces, they are placed by first fit instead (greedy.h).
BoundedPlacement improve_by_local_search(const Layout& layout, int64_t bound, int64_t work, BoundedPlacement best,
                                         Effort* effort);

/// So many are placed by bottom_up_simd.h, more by bottom_up.h.
inline constexpr size_t kFewBodies = 1000;

}  // namespace berth::packing
