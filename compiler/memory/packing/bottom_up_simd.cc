#include "compiler/memory/packing/bottom_up_simd.h"

#include <limits>

namespace berth::packing {
namespace {

template <typename Height>
constexpr Height kPlaced = std::numeric_limits<Height>::max();

/// Columns are whole blocks of so many.
constexpr size_t kBlock = 16;
/// Items that are placed are dropped from the columns when they are one in so many.
constexpr size_t kSparse = 4;

constexpr size_t round_up(size_t bodies) { return (bodies + kBlock - 1) / kBlock * kBlock; }

}  // namespace

template <typename Height>
BottomUpSimd<Height>::BottomUpSimd(const SearchProblem& problem, int64_t delay) : problem_(problem), delay_(delay) {
  for (const SearchBody& body : problem.bodies) aligned_ |= body.alignment > 1;
}

template <typename Height>
bool BottomUpSimd<Height>::place(const std::vector<int32_t>& order, std::vector<int64_t>* offsets) {
  arrange(order);
  offsets->assign(order.size(), 0);
  Height lowest = 0;
  size_t placed_columns = 0;
  for (size_t placed = 0; placed < order.size(); ++placed) {
    const size_t k = find(lowest);
    const size_t id = ids_[k];
    const int64_t top = low_[k] + problem_.bodies[id].size;
    if (top > kPlaced<Height> / 2) return false;
    (*offsets)[id] = low_[k];
    low_[k] = kPlaced<Height>;
    delays_[k] = 0;
    const Height end = static_cast<Height>(top);
    lowest = aligned_ ? raise<true>(begins_[k], ends_[k], end) : raise<false>(begins_[k], ends_[k], end);
    if (++placed_columns * kSparse < count_) continue;
    drop_placed();
    placed_columns = 0;
  }
  return true;
}

template <typename Height>
void BottomUpSimd<Height>::arrange(const std::vector<int32_t>& order) {
  const size_t bodies = order.size();
  count_ = round_up(bodies);
  ids_ = order;
  ids_.resize(count_);
  for (std::vector<Height>* column : {&begins_, &ends_, &past_alignment_, &delays_, &low_, &keys_}) {
    column->resize(count_);
  }
  for (size_t k = 0; k < bodies; ++k) {
    const SearchBody& body = problem_.bodies[order[k]];
    begins_[k] = static_cast<Height>(body.lower);
    ends_[k] = static_cast<Height>(body.upper);
    past_alignment_[k] = static_cast<Height>(body.alignment - 1);
    delays_[k] = static_cast<Height>(delay_ * static_cast<int64_t>(k) / static_cast<int64_t>(bodies));
    low_[k] = 0;
    keys_[k] = delays_[k];
  }
  fill_up(bodies);
}

/// Makes the columns from `bodies` on those of placed bodies.
template <typename Height>
void BottomUpSimd<Height>::fill_up(size_t bodies) {
  count_ = round_up(bodies);
  for (size_t k = bodies; k < count_; ++k) {
    begins_[k] = ends_[k] = past_alignment_[k] = delays_[k] = 0;
    low_[k] = keys_[k] = kPlaced<Height>;
  }
}

/// The first column with this key. REQUIRES: there is one. The loop over a block has no branches: it runs in vectors.
template <typename Height>
size_t BottomUpSimd<Height>::find(Height key) const {
  const Height* block = keys_.data();
  for (;; block += kBlock) {
    Height any = 0;
    for (size_t j = 0; j < kBlock; ++j) any = static_cast<Height>(any | (block[j] == key ? 1 : 0));
    if (any != 0) break;
  }
  while (*block != key) ++block;
  return block - keys_.data();
}

template <typename Height>
void BottomUpSimd<Height>::drop_placed() {
  size_t kept = 0;
  for (size_t k = 0; k < count_; ++k) {
    ids_[kept] = ids_[k];
    begins_[kept] = begins_[k];
    ends_[kept] = ends_[k];
    past_alignment_[kept] = past_alignment_[k];
    delays_[kept] = delays_[k];
    low_[kept] = low_[k];
    keys_[kept] = keys_[k];
    kept += low_[k] != kPlaced<Height> ? 1 : 0;
  }
  fill_up(kept);
}

/// Puts all that are alive in some section of [begin, end) at `top` or higher; returns the smallest key of all. Without
/// branches, so that it runs in vectors.
template <typename Height>
template <bool aligned>
Height BottomUpSimd<Height>::raise(Height begin, Height end, Height top) {
  const Height* const begins = begins_.data();
  const Height* const ends = ends_.data();
  const Height* const past = past_alignment_.data();
  const Height* const delays = delays_.data();
  Height* const lows = low_.data();
  Height* const keys = keys_.data();
  Height smallest = kPlaced<Height>;
  for (size_t k = 0; k < count_; ++k) {
    const Height up = aligned ? static_cast<Height>((top + past[k]) & ~past[k]) : top;
    const bool higher = (begins[k] < end) & (begin < ends[k]) & (lows[k] < up);
    const Height low = higher ? up : lows[k];
    const Height key = static_cast<Height>(low + delays[k]);
    lows[k] = low;
    keys[k] = key;
    smallest = key < smallest ? key : smallest;
  }
  return smallest;
}

template class BottomUpSimd<int16_t>;
template class BottomUpSimd<int32_t>;

}  // namespace berth::packing
