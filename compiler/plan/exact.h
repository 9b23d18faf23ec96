// The exact search, as a planner: which capacities to ask for, in which order, how long.
#pragma once

#include "compiler/plan/portfolio.h"

namespace berth::plan {

/// Lowers *out and raises its bound by search.h until they meet, the height is `enough`, or the effort is spent. The
/// lower bound is asked for first: a tight capacity prunes most, and is most often met. Then capacities between it and
/// the height, each by several rankings in turn, in rounds of growing limits. A capacity that is proven impossible
/// raises the bound.
/// Does nothing for layouts that make_items() refuses.
void improve_exactly(const Layout& layout, Effort* effort, Placed* out);

}  // namespace berth::plan
