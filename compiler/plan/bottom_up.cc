#include "compiler/plan/bottom_up.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "base/math.h"
#include "compiler/plan/search_ranks.h"

namespace berth::plan {
namespace {

constexpr size_t kBlock = 64;

/// What bodies are left, by birth, in blocks under a tree of their latest deaths.
class Left {
 public:
  explicit Left(const Layout& layout) : layout_(layout), low_(layout.bodies.size(), 0) {
    order_.resize(layout.bodies.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
      return layout.pieces[static_cast<size_t>(a)].lower < layout.pieces[static_cast<size_t>(b)].lower;
    });
    position_.resize(order_.size());
    for (size_t at = 0; at < order_.size(); ++at) {
      const Piece& piece = layout.pieces[static_cast<size_t>(order_[at])];
      position_[static_cast<size_t>(order_[at])] = at;
      births_.push_back(piece.lower);
      deaths_.push_back(piece.upper);
    }
    while (leaves_ * kBlock < order_.size()) leaves_ *= 2;
    latest_.assign(2 * leaves_, 0);
    for (size_t at = 0; at < order_.size(); ++at) {
      int32_t& latest = latest_[leaves_ + at / kBlock];
      latest = std::max(latest, deaths_[at]);
    }
    for (size_t node = leaves_; node-- > 1;) latest_[node] = std::max(latest_[2 * node], latest_[2 * node + 1]);
  }

  int64_t low(int32_t body) const { return low_[position_[static_cast<size_t>(body)]]; }

  void remove(int32_t body) {
    const size_t at = position_[static_cast<size_t>(body)];
    deaths_[at] = 0;  // never alive with anything
    size_t node = leaves_ + at / kBlock;
    const size_t begin = at / kBlock * kBlock;
    const size_t end = std::min(begin + kBlock, deaths_.size());
    latest_[node] = *std::max_element(deaths_.begin() + static_cast<std::ptrdiff_t>(begin),
                                      deaths_.begin() + static_cast<std::ptrdiff_t>(end));
    for (node /= 2; node > 0; node /= 2) latest_[node] = std::max(latest_[2 * node], latest_[2 * node + 1]);
  }

  /// All that are alive in some section of [lower, upper) lie at `end` or higher.
  void raise(int32_t lower, int32_t upper, int64_t end) {
    const auto born = std::lower_bound(births_.begin(), births_.end(), upper) - births_.begin();
    raise_in(1, 0, leaves_, static_cast<size_t>(born), lower, end);
  }

 private:
  void raise_in(size_t node, size_t begin, size_t width, size_t born, int32_t lower, int64_t end) {
    if (begin * kBlock >= born || latest_[node] <= lower) return;
    if (width > 1) {
      raise_in(2 * node, begin, width / 2, born, lower, end);
      raise_in(2 * node + 1, begin + width / 2, width / 2, born, lower, end);
      return;
    }
    const size_t last = std::min(begin * kBlock + kBlock, born);
    for (size_t at = begin * kBlock; at < last; ++at) {
      if (deaths_[at] > lower && low_[at] < end) low_[at] = aligned(at, end);
    }
  }

  int64_t aligned(size_t at, int64_t end) const {
    return align_up(end, layout_.bodies[static_cast<size_t>(order_[at])].alignment);
  }

  const Layout& layout_;
  std::vector<int32_t> order_;
  std::vector<size_t> position_;  // of each body in order_
  std::vector<int32_t> births_;   // in order_, as all that follows
  std::vector<int32_t> deaths_;
  std::vector<int64_t> low_;
  size_t leaves_ = 1;
  std::vector<int32_t> latest_;
};

}  // namespace

std::vector<int32_t> order_by_ranking(const Layout& layout, const SearchOptions& ranking) {
  Items items;
  make_items(layout, layout.bodies.size(), &items);
  std::vector<int32_t> order(layout.bodies.size());
  std::iota(order.begin(), order.end(), 0);
  Ranks(items, ranking).sort_all(order.data(), order.size());
  return order;
}

bool place_bottom_up(const Layout& layout, const std::vector<int32_t>& order, int64_t below, Placement* placement) {
  placement->positions.assign(layout.bodies.size(), 0);
  placement->height = 0;
  using Entry = std::pair<int64_t, int32_t>;  // the lowest place and the rank
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  for (size_t rank = 0; rank < order.size(); ++rank) next.emplace(0, static_cast<int32_t>(rank));
  Left left(layout);
  while (!next.empty()) {
    const auto [known, rank] = next.top();
    next.pop();
    const int32_t body = order[static_cast<size_t>(rank)];
    const int64_t low = left.low(body);
    if (low > known) {
      next.emplace(low, rank);
      continue;
    }
    const Piece& piece = layout.pieces[static_cast<size_t>(body)];
    placement->positions[static_cast<size_t>(body)] = low;
    placement->height = std::max(placement->height, low + piece.size);
    if (placement->height >= below) return false;
    left.remove(body);
    left.raise(piece.lower, piece.upper, low + piece.size);
  }
  return true;
}

}  // namespace berth::plan
