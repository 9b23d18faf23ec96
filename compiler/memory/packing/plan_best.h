// plan_best(): the one door to the planners.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/packing/plan.h"
#include "compiler/memory/packing/planner.h"

namespace berth::packing {

struct PlanOptions {
  Planner planner = Planner::kBest;
  /// How much kBest may search: placements tried by the exact search, of all spaces and selections of candidates
  /// together. About a microsecond each for a few hundred buffers; of more than 512, a node counts as several.
  int64_t nodes = 10'000;
  /// Seconds after which kBest stops with what it has and says `truncated`; 0: never. The nodes alone should decide:
  /// only then is the plan the same on every machine.
  double time_limit = 0;
  Deadline::Clock clock = Deadline::steady_clock;  // tests give their own
  /// Ends the search as the limit does; may be null.
  Watch* watch = nullptr;
  /// A space whose capacity is kept is low enough: kBest stops there. Otherwise it goes on to the lowest plan.
  bool stop_at_capacity = false;
  /// Names of the buffers, for messages; null or one a buffer.
  const std::vector<std::string>* names = nullptr;
};

/// The plan of `options.planner`. For each space: with every planner but kNaive, which takes no candidate, the
/// candidates are chosen as choose_aliases.h says, and no plan is higher than the same planner's without any candidate.
///
/// kBest takes the lowest plan of all planners of this room; of equal heights the first found in a fixed order, so that
/// the same problem gives the same bytes everywhere, whatever the machine, its load or its number of cores. It stops
/// where the lower bound is met. Work is bounded by counts, never by a clock (but see time_limit).
///
/// InvalidArgument for a malformed problem or fixed offsets that collide; OutOfResources when a space's capacity is
/// exceeded: "needs X, has Y", with the buffers that are alive in the fullest step when it is they that need X.
Expected<Plan> plan_best(const Problem& problem, const PlanOptions& options);

/// The same with the default options: what a compiler can afford.
Expected<Plan> plan_best(const Problem& problem);

}  // namespace berth::packing
