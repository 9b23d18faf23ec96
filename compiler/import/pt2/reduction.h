// What a reduction is over, and norms of it.
#pragma once

#include "compiler/import/pt2/node_context.h"

namespace berth::pt2 {

/// The tensor, its dimensions counted from the front (all of them when none are named), whether they stay as 1.
struct Reduction {
  ValueId x;
  DimList axes;
  bool keep = false;
};

/// The node's `self`, `dim` and `keepdim`.
Reduction read_reduction(NodeContext& n);
/// The sum of `x`, whose shape is r.x's.
ValueId sum(NodeContext& n, const Reduction& r, ValueId x, DType type);
/// (Σ |x|^p)^(1/p), with its limits for p = 0 and ±∞.
ValueId norm(NodeContext& n, const Reduction& r, double p);

}  // namespace berth::pt2
