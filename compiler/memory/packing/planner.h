// The planners that there are.
#pragma once

#include <cstdint>

namespace berth::packing {

enum class Planner : uint8_t {
  kNaive,      // no two buffers share a byte (naive.h)
  kGreedy,     // by size, into the hole that fits best (greedy.h)
  kBreadth,    // step by step, those steps first in which most bytes are alive (greedy.h)
  kBestFit,    // through time once, each birth into the free run that fits best (sweep.h)
  kBest,       // all of them and more, then order repair and the exact search, until the bound is met
  kHeuristic,  // the same without the exact search: some 50 ms for a few hundred buffers
};

}  // namespace berth::packing
