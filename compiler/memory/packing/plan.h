// Plan: an answer to a Problem, with its certificate.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/packing/problem.h"

namespace berth::packing {

/// What one space takes.
struct SpaceUse {
  int64_t height = 0;       // bytes: the largest end of a buffer
  int64_t lower_bound = 0;  // no plan of this problem is lower: by load (bound.h) or by an exhausted search (search.h)

  /// Whether the bound proves that no plan is lower.
  bool optimal() const { return height == lower_bound; }
};

struct Plan {
  std::vector<int64_t> offsets;  // one a buffer, in the problem's order
  std::vector<SpaceUse> spaces;  // one a space
  std::vector<bool> taken;       // one a candidate: whether it is taken; empty says that none is
  int64_t nodes = 0;             // effort: what the searches counted
  bool truncated = false;        // the time limit cut the work short: another run may give another plan

  /// Of all spaces together.
  int64_t bytes() const {
    int64_t sum = 0;
    for (const SpaceUse& use : spaces) sum += use.height;
    return sum;
  }

  bool optimal() const {
    for (const SpaceUse& use : spaces) {
      if (!use.optimal()) return false;
    }
    return true;
  }
};

}  // namespace berth::packing
