// The portfolio: every way to place the bodies of one layout, the lowest kept. Each part is an Improver of its own
// (effort.h) and knows nothing of the others.
#pragma once

#include "compiler/memory/packing/effort.h"

namespace berth::packing {

/// An Improver: all planners but the exact search, a fixed amount of local search among them.
BoundedPlacement improve_without_search(const Layout& layout, BoundedPlacement best, Effort* effort);

/// An Improver: everything, within `effort`.
BoundedPlacement improve(const Layout& layout, BoundedPlacement best, Effort* effort);

}  // namespace berth::packing
