#include "compiler/memory/packing/bottom_up.h"

#include <algorithm>
#include <numeric>

#include "base/math.h"
#include "compiler/memory/packing/search_ranks.h"

namespace berth::packing {
namespace {

constexpr size_t kBodyBlock = 64;

/// Nanoseconds, more or less, for the deadline.
constexpr int64_t kStepCost = 500;

/// The body that can lie lowest, of a block or more.
struct Least {
  int64_t low = kUnlimited;
  int32_t rank = 0;
  int32_t at = -1;

  bool operator<(const Least& other) const { return low != other.low ? low < other.low : rank < other.rank; }
};

/// The bodies that are left, by birth, in blocks under a tree of their latest deaths and of their lowest places.
class RemainingBodies {
 public:
  RemainingBodies(const Layout& layout, const std::vector<int32_t>& order) : low_(layout.bodies.size(), 0) {
    const size_t count = layout.bodies.size();
    by_birth_.resize(count);
    std::vector<int32_t> begin(layout.sections + 1, 0);
    for (const Piece& piece : layout.pieces) ++begin[piece.lower + 1];
    for (size_t s = 1; s < begin.size(); ++s) begin[s] += begin[s - 1];
    for (size_t body = 0; body < count; ++body) {
      const size_t section = layout.pieces[body].lower;
      by_birth_[begin[section]++] = static_cast<int32_t>(body);
    }
    std::vector<int32_t> rank_of(count);
    for (size_t k = 0; k < count; ++k) rank_of[order[k]] = static_cast<int32_t>(k);
    for (const int32_t body : by_birth_) {
      const Piece& piece = layout.pieces[body];
      births_.push_back(piece.lower);
      deaths_.push_back(piece.upper);
      ranks_.push_back(rank_of[body]);
      alignments_.push_back(layout.bodies[body].alignment);
      low_[births_.size() - 1] = layout.bodies[body].lowest;
    }
    while (leaves_ * kBodyBlock < count) leaves_ *= 2;
    latest_.assign(2 * leaves_, 0);
    least_.resize(2 * leaves_);
    for (size_t block = 0; block < leaves_; ++block) measure_block(block);
    for (size_t node = leaves_; node-- > 1;) measure_node(node);
  }

  /// The body that can lie lowest, and where; it is left no more. False when none is left.
  bool take(int32_t* body, int64_t* low) {
    const Least least = least_[1];
    if (least.at < 0) return false;
    const size_t at = least.at;
    *body = by_birth_[at];
    *low = least.low;
    deaths_[at] = 0;  // never alive with anything
    low_[at] = kUnlimited;
    measure_block(at / kBodyBlock);
    for (size_t node = (leaves_ + at / kBodyBlock) / 2; node > 0; node /= 2) measure_node(node);
    return true;
  }

  /// All that are alive in some section of [lower, upper) lie at `end` or higher.
  void raise(int32_t lower, int32_t upper, int64_t end) {
    const auto born = std::lower_bound(births_.begin(), births_.end(), upper) - births_.begin();
    raise_in(1, 0, leaves_, born, lower, end);
  }

 private:
  void raise_in(size_t node, size_t begin, size_t width, size_t born, int32_t lower, int64_t end) {
    if (begin * kBodyBlock >= born || latest_[node] <= lower) return;
    if (width > 1) {
      raise_in(2 * node, begin, width / 2, born, lower, end);
      raise_in(2 * node + 1, begin + width / 2, width / 2, born, lower, end);
      measure_node(node);
      return;
    }
    const size_t last = std::min(begin * kBodyBlock + kBodyBlock, born);
    for (size_t at = begin * kBodyBlock; at < last; ++at) {
      if (deaths_[at] > lower && low_[at] < end) low_[at] = align_up(end, alignments_[at]);
    }
    measure_block(begin);
  }

  void measure_block(size_t block) {
    Least least;
    int32_t latest = 0;
    const size_t last = std::min(block * kBodyBlock + kBodyBlock, low_.size());
    for (size_t at = block * kBodyBlock; at < last; ++at) {
      latest = std::max(latest, deaths_[at]);
      if (low_[at] > least.low || deaths_[at] == 0) continue;
      const Least mine{low_[at], ranks_[at], static_cast<int32_t>(at)};
      if (least.at < 0 || mine < least) least = mine;
    }
    least_[leaves_ + block] = least;
    latest_[leaves_ + block] = latest;
  }

  void measure_node(size_t node) {
    least_[node] = least_[2 * node + 1] < least_[2 * node] ? least_[2 * node + 1] : least_[2 * node];
    latest_[node] = std::max(latest_[2 * node], latest_[2 * node + 1]);
  }

  std::vector<int32_t> by_birth_;
  std::vector<int32_t> births_;  // in that order, as all that follows
  std::vector<int32_t> deaths_;
  std::vector<int32_t> ranks_;
  std::vector<int64_t> alignments_;
  std::vector<int64_t> low_;
  size_t leaves_ = 1;  // blocks, up to a power of two
  std::vector<int32_t> latest_;
  std::vector<Least> least_;
};

}  // namespace

std::vector<int32_t> order_by_ranking(const Layout& layout, const SearchOptions& ranking) {
  std::vector<int32_t> order(layout.bodies.size());
  std::iota(order.begin(), order.end(), 0);
  Ranks(ranking_problem(layout), ranking).sort_all(order.data(), order.size());
  return order;
}

std::optional<Placement> place_bottom_up(const Layout& layout, const std::vector<int32_t>& order, int64_t below,
                                         Deadline* deadline) {
  Placement placement;
  placement.positions.assign(layout.bodies.size(), 0);
  RemainingBodies remaining(layout, order);
  int32_t body = 0;
  int64_t low = 0;
  while (remaining.take(&body, &low)) {
    const Piece& piece = layout.pieces[body];
    placement.positions[body] = low;
    placement.height = std::max(placement.height, low + piece.size);
    if (placement.height >= below) return std::nullopt;
    remaining.raise(piece.lower, piece.upper, low + piece.size);
    if (deadline != nullptr && deadline->passed_after(kStepCost)) return std::nullopt;
  }
  return placement;
}

}  // namespace berth::packing
