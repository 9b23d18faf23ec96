// The planners that there are, and how much they may search.
#pragma once

#include <cstdint>
#include <limits>

namespace berth::packing {

enum class Planner : uint8_t {
  kNaive,      // no two buffers share a byte (naive.h)
  kGreedy,     // by size, into the hole that fits best (greedy.h)
  kBreadth,    // step by step, those steps first in which most bytes are alive (greedy.h)
  kBestFit,    // through time once, each birth into the free run that fits best (sweep.h)
  kBest,       // all of them and more, then local search and the exact search, until the bound is met
  kHeuristic,  // the same without the exact search: some 50 ms for a few hundred buffers
};

/// Nodes that a user may wait for: seconds.
inline constexpr int64_t kPatientNodes = 4'000'000;
/// Nodes when a time limit ends the search.
inline constexpr int64_t kManyNodes = std::numeric_limits<int64_t>::max();

}  // namespace berth::packing
