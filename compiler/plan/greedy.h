// Greedy planners: take the storages by a key, the largest first, and put each where it fits among those placed.
//
// The method is that of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020), with the
// keys and the rules for gaps that others found to win on some problems: no single pair wins on all.
#pragma once

#include <cstdint>

#include "compiler/plan/plan.h"

namespace berth::plan {

/// Which storages come first. Ties: the larger, then the longer alive, then the earlier born, then the earlier in the
/// problem.
enum class Key : uint8_t {
  kSize,        // the largest
  kArea,        // the most bytes × steps
  kLife,        // the longest alive
  kLoad,        // the most bytes alive in one of its steps; of equal ones the earlier born
  kNeighbours,  // the most bytes of all that it is ever alive with
  kBirth,       // the first born
  kDeath,       // the last to die
};
inline constexpr Key kAllKeys[] = {Key::kSize,       Key::kArea,  Key::kLife, Key::kLoad,
                                   Key::kNeighbours, Key::kBirth, Key::kDeath};

/// Into which hole among the placed storages that are alive with it a storage goes.
enum class Fit : uint8_t {
  kFirst,  // the lowest that is large enough
  kBest,   // the one that leaves the fewest bytes over; the lowest of those
};

/// One space or several; each is planned alone. A storage goes above all others only when no hole holds it. Takes
/// O(p log p) for p pairs of storages that are alive together (count_pairs).
/// InvalidArgument for a malformed problem, and for two fixed storages that collide. Capacities are not looked at.
Expected<Plan> plan_greedy(const Problem& problem, Key key, Fit fit);

/// The same, given up as soon as no space can come out lower than in `beat`, a plan of the same problem. True: `plan`
/// is whole, and lower somewhere.
Expected<bool> plan_greedy_below(const Problem& problem, Key key, Fit fit, const Plan& beat, Plan* plan);

/// How many pairs of storages are alive together, those of different spaces included. O(n log n).
int64_t count_pairs(const Problem& problem);

}  // namespace berth::plan
