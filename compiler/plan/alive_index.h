// AliveIndex: which of the storages placed so far are alive together with a given one?
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "compiler/plan/problem.h"

namespace berth::plan {

/// Storages sorted by birth under a tree of their latest deaths. Building takes O(n log n), adding O(log n), a question
/// with k answers about O(k + log n).
class AliveIndex {
 public:
  /// Knows the storages of `problem`, none of them added yet. The problem must outlive it.
  explicit AliveIndex(const Problem& problem);

  /// Adds the storage `id`.
  void add(int32_t id);

  /// Calls visit(id) for each added storage that is alive in some step of [lower, upper), in order of birth.
  template <typename Visit>
  void for_each(int64_t lower, int64_t upper, const Visit& visit) const {
    const auto end = std::lower_bound(births_.begin(), births_.end(), upper);
    descend(1, 0, leaves_, static_cast<size_t>(end - births_.begin()), lower, visit);
  }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();

  /// Visits the leaves of `node`, which covers the positions [begin, begin + width), that lie before `end` and die
  /// after `lower`.
  template <typename Visit>
  void descend(size_t node, size_t begin, size_t width, size_t end, int64_t lower, const Visit& visit) const {
    if (begin >= end || latest_death_[node] <= lower) return;
    if (width == 1) {
      visit(ids_[begin]);
      return;
    }
    descend(2 * node, begin, width / 2, end, lower, visit);
    descend(2 * node + 1, begin + width / 2, width / 2, end, lower, visit);
  }

  const Problem& problem_;
  std::vector<int32_t> ids_;           // by birth
  std::vector<int64_t> births_;        // of ids_
  std::vector<size_t> positions_;      // of each id in ids_
  size_t leaves_ = 1;                  // a power of two
  std::vector<int64_t> latest_death_;  // a heap-shaped tree: node 1 is the root, leaf p is node leaves_ + p
};

}  // namespace berth::plan
