// Order repair: place, see what sticks out, let that go earlier, place again.
#pragma once

#include "compiler/plan/portfolio.h"

namespace berth::plan {

/// Lowers *out by squeaky-wheel optimisation (Joslin and Clements, "Squeaky Wheel Optimization", 1999): bodies are
/// placed bottom up in an order; each that ends above a line moves forward in the order by how far it sticks out,
/// more or less; and again, until *out is optimal or the deadline passed. When that has led nowhere for a while it
/// goes on from the order that came out lowest, a little shuffled. The line is anywhere
/// between `bound` and the lowest height so far. The dice are the same every time.
/// `work` counts what it may cost, in the pairs of bodies that are looked at: some four thousand million a second for
/// up to kFewBodies rectangles, a few hundred million for others.
/// When bodies are fixed or of several pieces, they are placed by first fit instead (greedy.h).
void improve_by_repair(const Layout& layout, int64_t bound, int64_t work, Effort* effort, Placed* out);

/// So many are placed by few_bottom_up.h, more by bottom_up.h.
inline constexpr size_t kFewBodies = 1000;

}  // namespace berth::plan
