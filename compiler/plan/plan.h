// Plan: an answer to a Problem, with its certificate, and the one door to the planners.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "compiler/plan/problem.h"

namespace berth::plan {

/// What one space takes.
struct SpaceUse {
  int64_t height = 0;       // bytes: the largest end of a storage
  int64_t lower_bound = 0;  // no plan of this problem is lower: by load (bound.h) or by an exhausted search (search.h)

  /// Whether the bound proves that no plan is lower.
  bool optimal() const { return height == lower_bound; }
};

struct Plan {
  std::vector<int64_t> offsets;  // one a storage, in the problem's order
  std::vector<SpaceUse> spaces;  // one a space
  std::vector<bool> merged;      // one a merge: whether it is taken; empty says that none is
  int64_t nodes = 0;             // effort: what the searches counted
  bool truncated = false;        // the time limit cut the work short: another run may give another plan

  bool optimal() const {
    for (const SpaceUse& use : spaces) {
      if (!use.optimal()) return false;
    }
    return true;
  }
};

enum class Planner : uint8_t {
  kNaive,      // no two storages share a byte (naive.h)
  kGreedy,     // by size, into the hole that fits best (greedy.h)
  kBreadth,    // step by step, those steps first in which most bytes are alive (greedy.h)
  kBestFit,    // through time once, each birth into the free run that fits best (sweep.h)
  kBest,       // all of them and more, then order repair and the exact search, until the bound is met
  kHeuristic,  // the same without the exact search: some 50 ms for a few hundred storages
};

/// Nodes that a user may wait for: seconds.
inline constexpr int64_t kPatientNodes = 4'000'000;
/// Nodes when a time limit ends the search.
inline constexpr int64_t kManyNodes = std::numeric_limits<int64_t>::max();

struct PlanOptions {
  Planner planner = Planner::kBest;
  /// How much kBest may search: placements tried by the exact search, of all spaces and selections of merges together.
  /// About a microsecond each for a few hundred storages; of more than 512, a node counts as several.
  int64_t nodes = 10'000;
  /// Seconds after which kBest stops with what it has and says `truncated`; 0: never. The nodes alone should decide:
  /// only then is the plan the same on every machine.
  double time_limit = 0;
  Deadline::Clock clock = Deadline::steady_clock;  // tests give their own
  /// A space whose capacity is kept is low enough: kBest stops there. Otherwise it goes on to the lowest plan.
  bool stop_at_capacity = false;
  /// Names of the storages, for messages; null or one a storage.
  const std::vector<std::string>* names = nullptr;
};

/// The plan of `options.planner`. For each space: with every planner but kNaive, which takes no merge, the merges are
/// chosen as choose.h says, and no plan is higher than the same planner's without any merge.
///
/// kBest takes the lowest plan of all planners of this room; of equal heights the first found in a fixed order, so that
/// the same problem gives the same bytes everywhere, whatever the machine, its load or its number of cores. It stops
/// where the lower bound is met. Work is bounded by counts, never by a clock (but see time_limit).
///
/// InvalidArgument for a malformed problem or fixed offsets that collide; OutOfResources when a space's capacity is
/// exceeded: "needs X, has Y", with the storages that are alive in the fullest step when it is they that need X.
Expected<Plan> plan_best(const Problem& problem, const PlanOptions& options);

/// The same with the default options: what a compiler can afford.
Expected<Plan> plan_best(const Problem& problem);

}  // namespace berth::plan
