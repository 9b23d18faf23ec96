#include "compiler/memory/packing/improve_greedily.h"

#include <utility>

#include "compiler/memory/packing/bottom_up.h"
#include "compiler/memory/packing/greedy.h"
#include "compiler/memory/packing/load.h"
#include "compiler/memory/packing/order_by.h"

namespace berth::packing {
namespace {

/// What placing one layout again and again may cost, in pairs of pieces that are looked at: about a second.
constexpr int64_t kWork = 150'000'000;
/// A pair costs a greedy planner, which sorts, as much as so many cost the bottom-up one.
constexpr int64_t kGreedyPair = 4;
/// Up to this many bodies all rankings are tried.
constexpr size_t kMostRanked = 4000;

/// What one way of placing a layout costs, and what is left for more of them.
struct Budget {
  int64_t greedy = 0;
  int64_t bottom_up = 0;
  int64_t left = kWork;

  explicit Budget(const Layout& layout) {
    const int64_t pairs = count_pairs(layout);
    greedy = pairs * kGreedyPair;
    bottom_up = pairs + 64 * static_cast<int64_t>(layout.bodies.size());
  }
};

void keep(std::optional<Placement> found, BoundedPlacement* best) {
  if (found.has_value()) best->placement = std::move(*found);
}

BoundedPlacement place_by_rankings(const Layout& layout, BoundedPlacement best, Budget* budget, Effort* effort) {
  for (const Ranking ranking : {Ranking::kTAW, Ranking::kTWA, Ranking::kWAT}) {
    if (ranking != Ranking::kTAW && layout.bodies.size() > kMostRanked) return best;
    for (const bool by_steps : {false, true}) {
      if (effort->is_enough(best) || budget->left < budget->bottom_up || effort->is_over_after_sorting(layout)) {
        return best;
      }
      budget->left -= budget->bottom_up;
      SearchOptions options;
      options.ranking = ranking;
      options.by_steps = by_steps;
      const std::vector<int32_t> order = order_by_ranking(layout, options);
      keep(place_bottom_up(layout, order, best.placement.height, &effort->deadline), &best);
    }
  }
  return best;
}

BoundedPlacement place_by_keys(const Layout& layout, BoundedPlacement best, Budget* budget, Effort* effort) {
  for (const Key key : kAllKeys) {
    if (effort->is_enough(best) || budget->left < budget->greedy) return best;
    if (effort->is_over_after_sorting(layout)) return best;
    const std::vector<int32_t> order = order_by(layout, key);
    for (const Fit fit : {Fit::kBest, Fit::kFirst}) {
      if (effort->is_enough(best) || budget->left < budget->greedy) return best;
      budget->left -= budget->greedy;
      keep(place_in_order(layout, order, fit, best.placement.height, &effort->deadline), &best);
    }
  }
  return best;
}

}  // namespace

BoundedPlacement improve_greedily(const Layout& layout, BoundedPlacement best, Effort* effort) {
  Budget budget(layout);
  if (layout.rectangular() && !layout.any_fixed()) best = place_by_rankings(layout, std::move(best), &budget, effort);
  return place_by_keys(layout, std::move(best), &budget, effort);
}

}  // namespace berth::packing
