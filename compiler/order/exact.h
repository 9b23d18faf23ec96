// The exact search of one segment.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/order/segment.h"

namespace berth::order {

struct ExactResult {
  /// Empty when the limit was met first, or when no order has a peak below `below`.
  std::vector<int32_t> order;
  int64_t peak = 0;
  /// Whether the search ended by itself: then `order` is the best, or none is below `below`.
  bool complete = false;
  int64_t states = 0;
};

/// The order of least peak among those with a peak below `below`, found by going through sets of tasks done, the one
/// with the least peak first. Peaks below `floor` count as `floor`: nobody needs less. It keeps at most `limit` states.
ExactResult search_exactly(const Segment& segment, int64_t floor, int64_t below, int64_t limit);

}  // namespace berth::order
