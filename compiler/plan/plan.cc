#include "compiler/plan/plan.h"

#include <string>

#include "compiler/plan/greedy.h"
#include "compiler/plan/naive.h"
#include "compiler/plan/sweep.h"

namespace berth::plan {
namespace {

/// Pairs of storages that all greedy runs together may look at: two or three seconds.
constexpr int64_t kGreedyPairs = 60'000'000;

/// Takes over the spaces in which `found` is lower.
void keep_lower(const Problem& problem, const Plan& found, Plan* best) {
  std::vector<bool> lower;
  for (size_t s = 0; s < problem.spaces.size(); ++s) {
    lower.push_back(found.spaces[s].height < best->spaces[s].height);
    if (lower[s]) best->spaces[s] = found.spaces[s];
  }
  for (size_t i = 0; i < problem.storages.size(); ++i) {
    if (lower[static_cast<size_t>(problem.storages[i].space)]) best->offsets[i] = found.offsets[i];
  }
}

Status run_greedy_planners(const Problem& problem, bool any_fixed, Plan* best) {
  const int64_t pairs = count_pairs(problem);
  int64_t looked_at = 0;
  for (const Key key : kAllKeys) {
    for (const Fit fit : {Fit::kBest, Fit::kFirst}) {
      // Greedy alone looks at fixed storages, so with any of them it runs at least once.
      const bool must = any_fixed && key == Key::kSize && fit == Fit::kBest;
      if (!must && (best->optimal() || pairs > kGreedyPairs - looked_at)) return Done{};
      looked_at += pairs;
      if (must) {
        BERTH_ASSIGN_OR_RETURN(*best, plan_greedy(problem, key, fit));
        continue;
      }
      Plan found;
      BERTH_ASSIGN_OR_RETURN(const bool lower, plan_greedy_below(problem, key, fit, *best, &found));
      if (lower) keep_lower(problem, found, best);
    }
  }
  return Done{};
}

Status check_capacities(const Problem& problem, const Plan& plan) {
  for (size_t s = 0; s < problem.spaces.size(); ++s) {
    const SpaceUse& use = plan.spaces[s];
    if (use.height <= problem.spaces[s].capacity) continue;
    return Failure{Error::kOutOfResources, "space " + std::to_string(s),
                   "its storages take " + std::to_string(use.height) +
                       " bytes in the best plan found, but its capacity is " +
                       std::to_string(problem.spaces[s].capacity) + "; no plan takes fewer than " +
                       std::to_string(use.lower_bound)};
  }
  return Done{};
}

}  // namespace

Expected<Plan> plan_best(const Problem& problem) {
  Expected<Plan> naive = plan_naive(problem);
  if (!naive.ok()) return naive.error();
  Plan best = std::move(naive).value();
  bool any_fixed = false;
  for (const Storage& storage : problem.storages) any_fixed |= storage.fixed != kAnywhere;
  if (!any_fixed && !best.optimal()) {
    const Expected<Plan> swept = plan_sweep(problem);
    if (!swept.ok()) return swept.error();
    keep_lower(problem, *swept, &best);
  }
  BERTH_TRY(run_greedy_planners(problem, any_fixed, &best));
  BERTH_TRY(check_capacities(problem, best));
  return best;
}

}  // namespace berth::plan
