#include "compiler/memory/packing/portfolio.h"

#include <algorithm>
#include <utility>

#include "compiler/memory/packing/exact.h"
#include "compiler/memory/packing/first_placement.h"
#include "compiler/memory/packing/improve_greedily.h"
#include "compiler/memory/packing/large/improve_from_peaks.h"
#include "compiler/memory/packing/load.h"
#include "compiler/memory/packing/local_search.h"

namespace berth::packing {
namespace {

/// What local search may cost (local_search.h): up to so many bodies, and for more.
constexpr size_t kFew = 4000;
constexpr int64_t kLocalSearchOfFew = 190'000'000;
constexpr int64_t kLocalSearchOfMany = 900'000'000;

int64_t local_search_work(const Layout& layout) {
  return layout.bodies.size() <= kFew ? kLocalSearchOfFew : kLocalSearchOfMany;
}

/// Places the bounding boxes of bodies, by everything that takes rectangles only. Often no section gets
/// fuller by the boxes, and where one does, little is lost by trying.
BoundedPlacement improve_in_bounding_boxes(const Layout& layout, Improver improver, BoundedPlacement best,
                                           Effort* effort) {
  if (layout.rectangular() || layout.any_fixed()) return best;
  const Layout boxes = in_bounding_boxes(layout);
  if (!boxes.rectangular()) return best;
  const std::vector<int64_t> loads = section_loads(boxes);
  const int64_t bound = std::max(best.bound, *std::max_element(loads.begin(), loads.end()));
  if (bound >= best.placement.height) return best;
  std::optional<BoundedPlacement> first = first_placement(boxes, bound);
  if (!first.has_value()) return best;
  Placement placement = improver(boxes, std::move(*first), effort).placement;
  placement.height = height_of(layout, placement.positions);
  if (placement.height < best.placement.height) best.placement = std::move(placement);
  return best;
}

/// What improve_without_search() does but for peaks.
BoundedPlacement improve_by_orders(const Layout& layout, BoundedPlacement best, Effort* effort) {
  best = improve_greedily(layout, std::move(best), effort);
  if (effort->is_enough(best)) return best;
  best = improve_in_bounding_boxes(layout, improve_by_orders, std::move(best), effort);
  const int64_t bound = best.bound;
  return improve_by_local_search(layout, bound, local_search_work(layout), std::move(best), effort);
}

/// What improve() does but for peaks.
BoundedPlacement improve_by_all(const Layout& layout, BoundedPlacement best, Effort* effort) {
  // Not what the exact search proves, so that local search does what it does without it.
  const int64_t bound = best.bound;
  best = improve_greedily(layout, std::move(best), effort);
  if (effort->is_enough(best)) return best;
  best = improve_in_bounding_boxes(layout, improve_by_all, std::move(best), effort);
  ExactPlanner exact(layout, effort, &best);  // has nothing to do where bodies are fixed or of several pieces
  exact.run_round();
  const int64_t work = std::min(effort->local_search, local_search_work(layout));
  best = improve_by_local_search(layout, bound, work, std::move(best), effort);
  while (exact.run_round()) {
  }
  return best;
}

}  // namespace

BoundedPlacement improve_without_search(const Layout& layout, BoundedPlacement best, Effort* effort) {
  if (has_peaks(layout)) best = improve_from_peaks(layout, improve_by_orders, std::move(best), effort);
  if (effort->is_enough(best)) return best;
  return improve_by_orders(layout, std::move(best), effort);
}

BoundedPlacement improve(const Layout& layout, BoundedPlacement best, Effort* effort) {
  if (has_peaks(layout)) best = improve_from_peaks(layout, improve_by_all, std::move(best), effort);
  if (effort->is_enough(best)) return best;
  return improve_by_all(layout, std::move(best), effort);
}

}  // namespace berth::packing
