#include "compiler/memory/packing/portfolio.h"

#include <algorithm>
#include <utility>

#include "compiler/memory/packing/bottom_up.h"
#include "compiler/memory/packing/exact.h"
#include "compiler/memory/packing/greedy.h"
#include "compiler/memory/packing/load.h"
#include "compiler/memory/packing/local_search.h"
#include "compiler/memory/packing/peaks.h"
#include "compiler/memory/packing/sweep.h"

namespace berth::packing {
namespace {

/// What placing one layout again and again may cost, in pairs of pieces that are looked at: about a second.
constexpr int64_t kWork = 150'000'000;
/// A pair costs a greedy planner, which sorts, as much as so many cost the bottom-up one.
constexpr int64_t kGreedyPair = 4;
/// Below this many bodies each way to place them costs so little that all are tried.
constexpr size_t kFew = 4000;
/// What order repair may cost (local_search.h): for few bodies, and for many.
constexpr int64_t kRepairOfFew = 190'000'000;
constexpr int64_t kRepairOfMany = 900'000'000;

/// By how much each way to place a layout adds to the cost.
struct Costs {
  int64_t pairs = 0;
  int64_t bottom_up = 0;

  explicit Costs(const Layout& layout)
      : pairs(count_pairs(layout)), bottom_up(pairs + 64 * static_cast<int64_t>(layout.bodies.size())) {}
};

bool is_enough(const Placed& placed, Effort* effort) {
  return placed.optimal() || placed.placement.height <= effort->enough || effort->deadline.passed();
}

void place_by_rankings(const Layout& layout, int64_t cost, int64_t* work, Effort* effort, Placed* out) {
  Placement found;
  for (const Ranking ranking : {Ranking::kTAW, Ranking::kTWA, Ranking::kWAT}) {
    if (ranking != Ranking::kTAW && layout.bodies.size() > kFew) return;
    for (const bool by_steps : {false, true}) {
      if (is_enough(*out, effort) || *work < cost || effort->is_over_after_sorting(layout)) return;
      *work -= cost;
      SearchOptions options;
      options.ranking = ranking;
      options.by_steps = by_steps;
      const std::vector<int32_t> order = order_by_ranking(layout, options);
      if (place_bottom_up(layout, order, out->placement.height, &effort->deadline, &found)) {
        std::swap(out->placement, found);
      }
    }
  }
}

/// Places boxes around the bodies of several pieces, by everything that takes rectangles only. Often no section gets
/// fuller by the boxes, and where one does, little is lost by trying.
void improve_boxed(const Layout& layout, Improver improver, Effort* effort, Placed* out) {
  const Layout boxes = boxed(layout);
  if (!boxes.rectangular()) return;
  const std::vector<int64_t> loads = section_loads(boxes);
  Placed placed;
  const int64_t bound = std::max(out->bound, *std::max_element(loads.begin(), loads.end()));
  if (bound >= out->placement.height || !place_quickly(boxes, bound, &placed)) return;
  improver(boxes, effort, &placed);
  placed.placement.height = height_of(layout, placed.placement.positions);
  if (placed.placement.height < out->placement.height) out->placement = std::move(placed.placement);
}

/// Whether it is worth while to look for peaks, and allowed.
bool has_peaks(const Layout& layout) {
  if (layout.bodies.size() <= kManyBodies || !layout.rectangular() || layout.any_fixed()) return false;
  return std::all_of(layout.bodies.begin(), layout.bodies.end(), [](const Body& body) { return body.lowest == 0; });
}

int64_t repair_work(const Layout& layout) { return layout.bodies.size() <= kFew ? kRepairOfFew : kRepairOfMany; }

}  // namespace

bool place_quickly(const Layout& layout, int64_t bound, Placed* out) {
  out->bound = bound;
  if (layout.any_fixed()) {
    return place_in_order(layout, order_by(layout, Key::kSize), Fit::kBest, kUnlimited, nullptr, &out->placement);
  }
  place_by_sweep(layout, &out->placement);
  return true;
}

void improve_greedily(const Layout& layout, Effort* effort, Placed* out) {
  const Costs costs(layout);
  int64_t work = kWork;
  if (layout.rectangular() && !layout.any_fixed()) place_by_rankings(layout, costs.bottom_up, &work, effort, out);
  Placement found;
  for (const Key key : kAllKeys) {
    if (is_enough(*out, effort) || work < costs.pairs * kGreedyPair) return;
    if (effort->is_over_after_sorting(layout)) return;
    const std::vector<int32_t> order = order_by(layout, key);
    for (const Fit fit : {Fit::kBest, Fit::kFirst}) {
      if (is_enough(*out, effort) || work < costs.pairs * kGreedyPair) return;
      work -= costs.pairs * kGreedyPair;
      if (!place_in_order(layout, order, fit, out->placement.height, &effort->deadline, &found)) continue;
      std::swap(out->placement, found);
    }
  }
}

namespace {

/// What improve_without_search() does but for peaks.
void improve_by_orders(const Layout& layout, Effort* effort, Placed* out) {
  improve_greedily(layout, effort, out);
  if (is_enough(*out, effort)) return;
  if (!layout.rectangular() && !layout.any_fixed()) improve_boxed(layout, improve_by_orders, effort, out);
  improve_by_repair(layout, out->bound, repair_work(layout), effort, out);
}

/// What improve() does but for peaks.
void improve_by_all(const Layout& layout, Effort* effort, Placed* out) {
  const int64_t bound = out->bound;  // not what the search proves, so that repair does what it does without the search
  improve_greedily(layout, effort, out);
  if (is_enough(*out, effort)) return;
  if (!layout.rectangular() && !layout.any_fixed()) improve_boxed(layout, improve_by_all, effort, out);
  ExactPlanner exact(layout, effort, out);  // has nothing to do where bodies are fixed or of several pieces
  exact.run_round();
  improve_by_repair(layout, bound, std::min(effort->repair, repair_work(layout)), effort, out);
  while (exact.run_round()) {
  }
}

}  // namespace

void improve_without_search(const Layout& layout, Effort* effort, Placed* out) {
  if (has_peaks(layout)) improve_from_peaks(layout, improve_by_orders, effort, out);
  if (!is_enough(*out, effort)) improve_by_orders(layout, effort, out);
}

void improve(const Layout& layout, Effort* effort, Placed* out) {
  if (has_peaks(layout)) improve_from_peaks(layout, improve_by_all, effort, out);
  if (!is_enough(*out, effort)) improve_by_all(layout, effort, out);
}

}  // namespace berth::packing
