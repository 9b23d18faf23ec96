// Hashes of sets of tasks, for searches that come to one set by several orders.
#pragma once

#include <cstdint>

namespace berth::scheduling {

/// Of one task; that of a set is all of its tasks', joined by exclusive or.
inline uint64_t hash_of(int32_t task) {
  uint64_t h = (static_cast<uint64_t>(task) + 1) * 0x9E3779B97F4A7C15u;
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
  return h ^ (h >> 27);
}

}  // namespace berth::scheduling
