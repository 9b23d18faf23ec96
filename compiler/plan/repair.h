// Order repair: place, see what sticks out, let that go earlier, place again.
#pragma once

#include "compiler/plan/portfolio.h"

namespace berth::plan {

/// Lowers *out by squeaky-wheel optimisation (Joslin and Clements, "Squeaky Wheel Optimization", 1999): bodies are
/// placed bottom up in an order; each that ends above the bound moves forward in the order by how far it sticks out;
/// and again, `rounds` times at most, or until the bound is met or the deadline passed. No chance in it. REQUIRES:
/// layout.rectangular(), and no body is fixed.
void improve_by_repair(const Layout& layout, int64_t rounds, Effort* effort, Placed* out);

}  // namespace berth::plan
