// The exact search, as a planner: which capacities to ask for, in which order, how long.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/memory/packing/effort.h"
#include "compiler/memory/packing/search.h"

namespace berth::packing {

/// Lowers *best and raises its bound by search.h until they meet, the height is `enough`, or the effort is spent, in
/// rounds of growing limits. In each the lower bound is asked for first, by several rankings in turn: a tight capacity
/// prunes most, and is most often met. Then capacities from the height downward. A capacity that is proven impossible
/// raises the bound.
class ExactPlanner {
 public:
  /// All must outlive this. `layout` and *best belong together.
  ExactPlanner(const Layout& layout, Effort* effort, BoundedPlacement* best);

  /// False when there is nothing more to do: always, for layouts of which there is no search_problem().
  bool run_round();

 private:
  bool is_over();
  int64_t lowest() const;
  bool dive(int64_t limit);
  void descend(const SearchOptions& options);
  bool ask(int64_t capacity, SearchOptions options);

  const Layout& layout_;
  const std::optional<SearchProblem> problem_;
  Effort* const effort_;
  BoundedPlacement* const best_;
  uint64_t rounds_ = 0;
  int64_t weight_ = 1;  // what a node counts
  int64_t limit_ = 0;   // nodes of each search of the next round
};

}  // namespace berth::packing
