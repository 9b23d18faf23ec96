// How the exact search goes about it: the order in which it tries items, and when it ends.
#pragma once

#include <cstdint>

#include "base/deadline.h"

namespace berth::packing {

/// By which of three measures items are ranked, the largest first: W how long they live, A that times their size, T the
/// largest sum of sizes in a section that they touch.
enum class Ranking : uint8_t { kWAT, kTAW, kTWA };

struct SearchOptions {
  Ranking ranking = Ranking::kWAT;
  bool by_steps = false;         // W counts steps, not sections
  bool rank_parts = false;       // rank the items of a part anew by what is still to be placed
  uint64_t seed = 0;             // not 0: ranks are disturbed
  int64_t nodes = 0;             // the limit
  Deadline* deadline = nullptr;  // ends the search as the limit does
};

}  // namespace berth::packing
