#include "compiler/memory/packing/local_search.h"

#include <algorithm>
#include <optional>

#include "base/splitmix64.h"
#include "compiler/memory/packing/bottom_up.h"
#include "compiler/memory/packing/bottom_up_simd.h"
#include "compiler/memory/packing/greedy.h"
#include "compiler/memory/packing/load.h"
#include "compiler/memory/packing/order_by.h"

namespace berth::packing {
namespace {

/// One place in an order, in the units of keys; parts of it are for ties and dice.
constexpr int64_t kPlace = 1 << 10;
/// How far a body moves forward, in thousandths of all places: at least, and more for the one that sticks out most.
constexpr int64_t kLeast = 20;
constexpr int64_t kMore = 60;
/// Rounds without a lower height until the best order is shuffled, and how far: in thousandths of all places.
constexpr int64_t kPatience = 120;
constexpr int64_t kShuffle = 50;
/// Of bottom_up_simd.h: the bound over this. A body may go this much before one that could lie lower.
constexpr int64_t kDelayShare = 64;
/// What a round costs besides pairs, in pairs.
constexpr int64_t kRoundCost = 20'000;
/// What a pair costs that bottom_up_simd.h does not look at.
constexpr int64_t kSlowPair = 16;

/// Places an order, by the fastest way that the layout allows.
class Placer {
 public:
  Placer(const Layout& layout, int64_t bound, Deadline* deadline)
      : layout_(layout), bottom_up_(layout.rectangular() && !layout.any_fixed()), deadline_(deadline) {
    const int64_t bodies = static_cast<int64_t>(layout.bodies.size());
    cost_ = kSlowPair * (count_pairs(layout) + 64 * bodies);
    if (layout.bodies.size() > kFewBodies) return;
    problem_ = search_problem(layout, kFewBodies);
    if (!problem_.has_value()) return;
    const int64_t units = bound / problem_->unit;
    int64_t widest = std::max<int64_t>(units, layout.sections);
    for (const SearchBody& body : problem_->bodies) widest = std::max(widest, body.alignment);
    if (widest < kSmall) {
      small_.emplace(*problem_, units / kDelayShare);
    } else if (widest < kMiddling) {
      middling_.emplace(*problem_, units / kDelayShare);
    } else {
      return;
    }
    cost_ = bodies * bodies + kRoundCost;
  }

  bool bottom_up() const { return bottom_up_; }
  int64_t cost() const { return cost_; }

  /// False when it cannot, or the deadline has passed: there is nothing to improve.
  bool place(const std::vector<int32_t>& order, Placement* placement) {
    if (small_.has_value() || middling_.has_value()) {
      const bool placed = small_.has_value() ? small_->place(order, &placement->positions)
                                             : middling_->place(order, &placement->positions);
      for (int64_t& position : placement->positions) position *= problem_->unit;
      placement->height = height_of(layout_, placement->positions);
      return placed;
    }
    std::optional<Placement> found = bottom_up_ ? place_bottom_up(layout_, order, kUnlimited, deadline_)
                                                : place_in_order(layout_, order, Fit::kFirst, kUnlimited, deadline_);
    if (!found.has_value()) return false;
    *placement = std::move(*found);
    return true;
  }

 private:
  /// Bounds below these leave room for a placement of twice the height.
  static constexpr int64_t kSmall = int64_t{1} << 13;
  static constexpr int64_t kMiddling = int64_t{1} << 29;

  const Layout& layout_;
  const bool bottom_up_;
  Deadline* const deadline_;
  int64_t cost_ = 0;
  std::optional<SearchProblem> problem_;
  std::optional<BottomUpSimd<int16_t>> small_;
  std::optional<BottomUpSimd<int32_t>> middling_;
};

class LocalSearch {
 public:
  LocalSearch(const Layout& layout, int64_t bound, Placer* placer) : layout_(layout), bound_(bound), placer_(*placer) {
    SearchOptions ranking;
    ranking.ranking = Ranking::kTAW;
    order_ = placer_.bottom_up() ? order_by_ranking(layout, ranking) : order_by(layout, Key::kSize);
    places_ = static_cast<int64_t>(order_.size());
    keys_.resize(order_.size());
    for (size_t k = 0; k < order_.size(); ++k) {
      keys_[order_[k]] = static_cast<int64_t>(k) * kPlace;
    }
  }

  /// One round: places, and makes the next order.
  bool place(Placement* placement) {
    if (!placer_.place(order_, placement)) return false;
    if (placement->height < lowest_) {
      lowest_ = placement->height;
      lowest_keys_ = keys_;
      idle_ = 0;
    } else if (++idle_ > kPatience) {
      shuffle();
      idle_ = 0;
      return true;
    }
    move_what_sticks_out(*placement);
    return true;
  }

 private:
  int64_t end_of(size_t body, const Placement& placement) const {
    int64_t end = 0;
    for (int32_t p = layout_.bodies[body].begin; p < layout_.bodies[body].end; ++p) {
      const Piece& piece = layout_.pieces[p];
      end = std::max(end, placement.positions[body] + piece.shift + piece.size);
    }
    return end;
  }

  void move_what_sticks_out(const Placement& placement) {
    // What ends above a line, anywhere between the bound and the lowest height so far.
    const int64_t aim = bound_ + dice_.below(std::max<int64_t>(1, lowest_ - bound_));
    int64_t over = std::max<int64_t>(placement.height - aim, 1);
    int shift = 0;
    while ((over >> shift) >= int64_t{1} << 40) ++shift;
    over >>= shift;
    for (size_t b = 0; b < keys_.size(); ++b) {
      const int64_t sticks_out = end_of(b, placement) - aim;
      if (sticks_out <= 0 || layout_.bodies[b].fixed != kAnywhere) continue;
      const int64_t thousandths = kLeast + kMore * (sticks_out >> shift) / over;
      // From half of it to half as much again.
      keys_[b] -= places_ * kPlace / 1000 * thousandths * (512 + dice_.below(1024)) / 1024;
    }
    sort();
  }

  void shuffle() {
    keys_ = lowest_keys_;
    for (int64_t& key : keys_) key += dice_.below(places_ * kPlace / 1000 * kShuffle + 1);
    sort();
  }

  bool earlier(int32_t a, int32_t b) const {
    const int64_t first = keys_[a];
    const int64_t second = keys_[b];
    return first != second ? first < second : a < b;
  }

  void sort() {
    if (order_.size() <= kFewBodies) {
      // Few move, and not far.
      for (size_t at = 1; at < order_.size(); ++at) {
        const int32_t body = order_[at];
        size_t hole = at;
        for (; hole > 0 && earlier(body, order_[hole - 1]); --hole) order_[hole] = order_[hole - 1];
        order_[hole] = body;
      }
    } else {
      std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) { return earlier(a, b); });
    }
    if (placer_.bottom_up()) return;
    std::stable_partition(order_.begin(), order_.end(),
                          [&](int32_t b) { return layout_.bodies[b].fixed != kAnywhere; });
  }

  const Layout& layout_;
  const int64_t bound_;
  Placer& placer_;
  SplitMix64 dice_;
  std::vector<int32_t> order_;
  int64_t places_ = 0;
  std::vector<int64_t> keys_;  // of each body; the smallest goes first
  int64_t lowest_ = kUnlimited;
  std::vector<int64_t> lowest_keys_;
  int64_t idle_ = 0;  // rounds since the lowest
};

}  // namespace

BoundedPlacement improve_by_local_search(const Layout& layout, int64_t bound, int64_t work, BoundedPlacement best,
                                         Effort* effort) {
  Placer placer(layout, bound, &effort->deadline);
  if (layout.bodies.empty() || work < placer.cost() || effort->is_over_after_sorting(layout)) return best;
  LocalSearch search(layout, bound, &placer);
  Placement found;  // outside of the loop, since it keeps its memory
  for (; work >= placer.cost(); work -= placer.cost()) {
    if (effort->is_enough(best) || !search.place(&found)) return best;
    if (found.height < best.placement.height) std::swap(best.placement, found);
  }
  return best;
}

}  // namespace berth::packing
