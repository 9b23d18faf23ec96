// PlacedByLife: where do the pieces lie that are live together with a given one? Takes O(k + log n) for k answers, so
// that a hundred thousand pieces of which few are live at once can be placed; the answers come in no order of offsets.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/layout.h"

namespace berth::packing {

/// Pieces sorted by birth under a tree of their latest deaths. Building takes O(n log n), adding O(log n).
class PlacedByLife {
 public:
  static constexpr bool kVisitsByOffset = false;

  /// Knows the pieces of `layout`, none of them added yet. The layout must outlive it.
  explicit PlacedByLife(const Layout& layout);

  /// Adds the piece `id`, which begins at `begin`.
  void add(int32_t id, int64_t begin);

  /// Calls visit(first byte, end) for each added piece that is live in a section of [lower, upper), in order of birth.
  template <typename Visit>
  void for_each(int32_t lower, int32_t upper, const Visit& visit) const {
    descend(1, 0, leaves_, born_before_[upper], lower, visit);
  }

 private:
  /// Visits the leaves of `node`, which covers the positions [begin, begin + width), that lie before `end` and die
  /// after `lower`.
  template <typename Visit>
  void descend(size_t node, size_t begin, size_t width, size_t end, int32_t lower, const Visit& visit) const {
    if (begin >= end || latest_death_[node] <= lower) return;
    if (width == 1) {
      const int32_t id = ids_[begin];
      visit(begins_[id], begins_[id] + layout_.pieces[id].size);
      return;
    }
    descend(2 * node, begin, width / 2, end, lower, visit);
    descend(2 * node + 1, begin + width / 2, width / 2, end, lower, visit);
  }

  const Layout& layout_;
  std::vector<int64_t> begins_;        // of each piece: its first byte
  std::vector<int32_t> ids_;           // by birth
  std::vector<int32_t> born_before_;   // of each section: how many of ids_
  std::vector<int32_t> positions_;     // of each id in ids_
  size_t leaves_ = 1;                  // a power of two
  std::vector<int32_t> latest_death_;  // a heap-shaped tree: node 1 is the root, leaf p is node leaves_ + p
};

}  // namespace berth::packing
