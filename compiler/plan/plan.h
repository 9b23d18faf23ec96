// Plan: an answer to a Problem, with its certificate, and the one door to the planners.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/plan/problem.h"

namespace berth::plan {

/// What one space takes.
struct SpaceUse {
  int64_t height = 0;       // bytes: the largest end of a storage
  int64_t lower_bound = 0;  // no plan of this problem is lower (bound.h)

  /// Whether the bound proves that no plan is lower.
  bool optimal() const { return height == lower_bound; }
};

struct Plan {
  std::vector<int64_t> offsets;  // one a storage, in the problem's order
  std::vector<SpaceUse> spaces;  // one a space

  bool optimal() const {
    for (const SpaceUse& use : spaces) {
      if (!use.optimal()) return false;
    }
    return true;
  }
};

/// The lowest plan that the planners of this room find, space by space: naive (naive.h), the sweep (sweep.h) and greedy
/// by several keys (greedy.h). Of plans of equal height the first of that list is taken, so that the same problem gives
/// the same offsets everywhere. Work is bounded by counts, never by a clock: greedy runs while the pairs of storages
/// that it looks at stay below a fixed number, so that 100 000 storages take seconds at most.
///
/// InvalidArgument for a malformed problem or fixed offsets that collide; OutOfResources when a space's capacity is
/// exceeded, with the bytes found, the capacity and the bound.
Expected<Plan> plan_best(const Problem& problem);

}  // namespace berth::plan
