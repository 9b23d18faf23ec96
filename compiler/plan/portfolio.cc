#include "compiler/plan/portfolio.h"

#include "compiler/plan/exact.h"
#include "compiler/plan/greedy.h"
#include "compiler/plan/load.h"
#include "compiler/plan/sweep.h"

namespace berth::plan {
namespace {

/// Pairs of pieces that all greedy runs over one layout together may look at: two or three seconds.
constexpr int64_t kGreedyPairs = 60'000'000;

}  // namespace

bool Effort::is_over() {
  if (has_deadline && !truncated) truncated = std::chrono::steady_clock::now() >= deadline;
  return truncated;
}

bool place_quickly(const Layout& layout, int64_t bound, Placed* out) {
  out->bound = bound;
  if (layout.any_fixed()) {
    return place_in_order(layout, order_by(layout, Key::kSize), Fit::kBest, kUnlimited, &out->placement);
  }
  place_by_sweep(layout, &out->placement);
  return true;
}

void improve_greedily(const Layout& layout, Effort* effort, Placed* out) {
  const int64_t pairs = count_pairs(layout);
  int64_t looked_at = 0;
  Placement found;
  for (const Key key : kAllKeys) {
    if (out->optimal() || out->placement.height <= effort->enough || effort->is_over()) return;
    const std::vector<int32_t> order = order_by(layout, key);
    for (const Fit fit : {Fit::kBest, Fit::kFirst}) {
      if (out->optimal() || out->placement.height <= effort->enough || pairs > kGreedyPairs - looked_at) return;
      looked_at += pairs;
      if (place_in_order(layout, order, fit, out->placement.height, &found)) std::swap(out->placement, found);
    }
  }
}

void improve(const Layout& layout, Effort* effort, Placed* out) {
  improve_greedily(layout, effort, out);
  improve_exactly(layout, effort, out);
}

}  // namespace berth::plan
