// All greedy planners in turn, the lowest placement kept.
#pragma once

#include "compiler/memory/packing/effort.h"

namespace berth::packing {

/// An Improver: bottom up by the rankings of the exact search, then one by one by the keys of greedy.h, as many of them
/// as a fixed number of pairs allows, until the bound is met.
BoundedPlacement improve_greedily(const Layout& layout, BoundedPlacement best, Effort* effort);

}  // namespace berth::packing
