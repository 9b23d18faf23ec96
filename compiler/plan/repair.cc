#include "compiler/plan/repair.h"

#include <algorithm>

#include "compiler/plan/bottom_up.h"
#include "compiler/plan/greedy.h"

namespace berth::plan {
namespace {

/// How far a body moves forward, in parts of all bodies: at least, and for the one that sticks out most.
constexpr double kLeast = 0.02;
constexpr double kMost = 0.08;

int64_t end_of(const Layout& layout, size_t body, const Placement& placement) {
  int64_t end = 0;
  for (int32_t p = layout.bodies[body].begin; p < layout.bodies[body].end; ++p) {
    const Piece& piece = layout.pieces[static_cast<size_t>(p)];
    end = std::max(end, placement.positions[body] + piece.shift + piece.size);
  }
  return end;
}

}  // namespace

void improve_by_repair(const Layout& layout, int64_t rounds, Effort* effort, Placed* out) {
  const bool bottom_up = layout.rectangular() && !layout.any_fixed();
  SearchOptions ranking;
  ranking.ranking = Ranking::kTAW;
  std::vector<int32_t> order = bottom_up ? order_by_ranking(layout, ranking) : order_by(layout, Key::kSize);
  std::vector<double> keys(order.size());
  for (size_t k = 0; k < order.size(); ++k) keys[static_cast<size_t>(order[k])] = static_cast<double>(k);
  const double bodies = static_cast<double>(order.size());
  Placement found;
  for (int64_t round = 0; round < rounds; ++round) {
    if (out->optimal() || out->placement.height <= effort->enough || effort->is_over()) return;
    if (bottom_up) {
      place_bottom_up(layout, order, kUnlimited, &found);
    } else if (!place_in_order(layout, order, Fit::kFirst, kUnlimited, &found)) {
      return;
    }
    const int64_t over = found.height - out->bound;
    for (size_t b = 0; b < keys.size(); ++b) {
      const int64_t sticks_out = end_of(layout, b, found) - out->bound;
      if (sticks_out <= 0 || layout.bodies[b].fixed != kAnywhere) continue;
      const double part = static_cast<double>(sticks_out) / static_cast<double>(over);
      keys[b] -= bodies * (kLeast + (kMost - kLeast) * part);
    }
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const double first = keys[static_cast<size_t>(a)];
      const double second = keys[static_cast<size_t>(b)];
      return first != second ? first < second : a < b;
    });
    std::stable_partition(order.begin(), order.end(),
                          [&](int32_t b) { return layout.bodies[static_cast<size_t>(b)].fixed != kAnywhere; });
    if (found.height < out->placement.height) std::swap(out->placement, found);
  }
}

}  // namespace berth::plan
