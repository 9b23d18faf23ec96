#include "compiler/memory/packing/greedy.h"

#include <algorithm>

#include "base/math.h"
#include "compiler/memory/packing/check_fixed.h"
#include "compiler/memory/packing/placed_by_life.h"
#include "compiler/memory/packing/placed_by_offset.h"
#include "compiler/memory/packing/plan_each_space.h"

namespace berth::packing {
namespace {

/// Nanoseconds, more or less, for the deadline: of a body, and of each that is alive with it.
constexpr int64_t kGreedyBodyCost = 300;
constexpr int64_t kPairCost = 20;

/// Positions strictly between the two are taken.
struct Forbidden {
  int64_t after;
  int64_t before;
};

bool earlier(const Forbidden& a, const Forbidden& b) { return a.after < b.after; }

/// The position for `body` beside what is forbidden to it, which is sorted.
int64_t find_place(const Body& body, const std::vector<Forbidden>& forbidden, Fit fit) {
  int64_t floor = body.lowest;  // no position below is free
  int64_t best = kAnywhere;
  int64_t best_rest = kMaxBytes;
  for (const Forbidden& range : forbidden) {
    const int64_t position = align_up(floor, body.alignment);
    const bool fits = position <= range.after;
    if (fits && fit == Fit::kFirst) return position;
    if (fits && range.after - floor < best_rest) {
      best_rest = range.after - floor;
      best = position;
      if (best_rest == 0) break;
    }
    floor = std::max(floor, range.before);
  }
  return best != kAnywhere ? best : align_up(floor, body.alignment);
}

bool is_free(int64_t position, const std::vector<Forbidden>& forbidden) {
  for (const Forbidden& range : forbidden) {
    if (range.after < position && position < range.before) return false;
  }
  return true;
}

/// What is forbidden to a body beside the placed pieces, sorted.
template <typename Placed>
void find_forbidden(const Layout& layout, const Body& body, Placed* placed, std::vector<Forbidden>* forbidden) {
  forbidden->clear();
  for (int32_t p = body.begin; p < body.end; ++p) {
    const Piece& mine = layout.pieces[p];
    placed->for_each(mine.lower, mine.upper, [&](int64_t begin, int64_t end) {
      forbidden->push_back({begin - mine.shift - mine.size, end - mine.shift});
    });
  }
  const bool sorted = Placed::kVisitsByOffset && body.end - body.begin == 1;
  if (!sorted) std::sort(forbidden->begin(), forbidden->end(), earlier);
}

/// `Placed`: PlacedByLife or PlacedByOffset, whichever is faster.
template <typename Placed>
std::optional<Placement> place_each(const Layout& layout, const std::vector<int32_t>& order, Fit fit, int64_t below,
                                    Deadline* deadline) {
  Placement placement;
  placement.positions.assign(layout.bodies.size(), 0);
  Placed placed(layout);
  std::vector<Forbidden> forbidden;
  for (const int32_t id : order) {
    const Body& body = layout.bodies[id];
    int64_t& position = placement.positions[id];
    find_forbidden(layout, body, &placed, &forbidden);
    position = body.fixed != kAnywhere ? body.fixed : find_place(body, forbidden, fit);
    if (body.fixed != kAnywhere && !is_free(position, forbidden)) return std::nullopt;
    for (int32_t p = body.begin; p < body.end; ++p) {
      const Piece& piece = layout.pieces[p];
      placement.height = std::max(placement.height, position + piece.shift + piece.size);
      placed.add(p, position + piece.shift);
    }
    if (placement.height >= below) return std::nullopt;
    if (deadline != nullptr &&
        deadline->passed_after(kGreedyBodyCost + kPairCost * static_cast<int64_t>(forbidden.size()))) {
      return std::nullopt;
    }
  }
  return placement;
}

}  // namespace

std::optional<Placement> place_in_order(const Layout& layout, const std::vector<int32_t>& order, Fit fit, int64_t below,
                                        Deadline* deadline) {
  if (PlacedByOffset::is_faster(layout)) return place_each<PlacedByOffset>(layout, order, fit, below, deadline);
  return place_each<PlacedByLife>(layout, order, fit, below, deadline);
}

Expected<Plan> plan_greedy(const Problem& problem, Key key, Fit fit) {
  BERTH_TRY(check(problem));
  BERTH_TRY(check_fixed(problem));
  return plan_each_space(problem, [&](const Layout& layout) {
    return *place_in_order(layout, order_by(layout, key), fit, kUnlimited, nullptr);
  });
}

}  // namespace berth::packing
