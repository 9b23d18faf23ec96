// The exact search of one stretch.
#pragma once

#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/scheduling/stretch.h"

namespace berth::scheduling {

struct ExactResult {
  /// Empty when the search was ended first, or when no order has a peak below `below`.
  std::vector<int32_t> order;
  /// Whether the search ended by itself: then `order` is the best, or none is below `below`.
  bool complete = false;
  /// No order has a lower peak than this, or than `below`; that of `order` when there is one.
  int64_t bound = 0;
  int64_t states = 0;
};

/// The order of least peak among those with a peak below `below`, found by going through sets of tasks, the one with
/// the least peak first, of equal ones the one that is furthest: from both ends in turn, those that have run and those
/// that run last. Each search raises the bound for the other, so the one with fewer sets below the peak decides how
/// long it takes. Peaks below `floor` count as `floor`: no order needs less. It keeps about `limit` states at most, and
/// gives up when the deadline has passed. REQUIRES: the stretch has tasks.
ExactResult search_exactly(const Stretch& stretch, int64_t floor, int64_t below, int64_t limit, Deadline* deadline);

}  // namespace berth::scheduling
