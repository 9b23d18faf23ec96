// How work of equal parts is shared out so that threads are done at the same time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/math.h"

namespace berth::cpu {

/// How many of `parts` go to an item, so that `slots` threads that take items one by one are done with them soonest,
/// each of `others` lots having all of the parts. They become from `least` to `most` items, the fewest of those that
/// take equally long. REQUIRES: 1 <= least <= most, parts >= 1.
inline int64_t parts_of_item(int64_t parts, int64_t others, int slots, int64_t least, int64_t most) {
  int64_t best = ceil_div(parts, std::min(least, parts)), best_time = INT64_MAX;
  for (int64_t items = std::min(least, parts); items <= std::min(most, parts); ++items) {
    const int64_t own = ceil_div(parts, items);
    const int64_t time = ceil_div<int64_t>(others * ceil_div(parts, own), slots) * own;
    if (time >= best_time) continue;
    best = own;
    best_time = time;
  }
  return best;
}

}  // namespace berth::cpu
