#include "compiler/memory/packing/plan_best.h"

#include <algorithm>
#include <utility>

#include "compiler/memory/packing/bound.h"
#include "compiler/memory/packing/check_fixed.h"
#include "compiler/memory/packing/choose_aliases.h"
#include "compiler/memory/packing/greedy.h"
#include "compiler/memory/packing/naive.h"
#include "compiler/memory/packing/order_by.h"
#include "compiler/memory/packing/portfolio.h"
#include "compiler/memory/packing/split_spaces.h"

namespace berth::packing {
namespace {

/// What local search may cost for each node that the search may spend, and for how many nodes.
constexpr int64_t kLocalSearchPerNode = 20'000;
constexpr int64_t kMostLocalSearchNodes = 1'000'000;

/// How many buffers a message names.
constexpr size_t kNamed = 6;

BoundedPlacement place_by(const Layout& layout, Key key, BoundedPlacement best, Effort* effort) {
  std::optional<Placement> found =
      place_in_order(layout, order_by(layout, key), Fit::kBest, kUnlimited, &effort->deadline);
  if (found.has_value()) best.placement = std::move(*found);
  return best;
}
BoundedPlacement greedily(const Layout& layout, BoundedPlacement best, Effort* effort) {
  return place_by(layout, Key::kSize, std::move(best), effort);
}
BoundedPlacement by_breadth(const Layout& layout, BoundedPlacement best, Effort* effort) {
  return place_by(layout, Key::kLoad, std::move(best), effort);
}
BoundedPlacement as_it_is(const Layout&, BoundedPlacement best, Effort*) { return best; }

Improver improver_of(Planner planner) {
  switch (planner) {
    case Planner::kGreedy: return greedily;
    case Planner::kBreadth: return by_breadth;
    case Planner::kBestFit: return as_it_is;
    case Planner::kHeuristic: return improve_without_search;
    default: return improve;
  }
}

std::string buffer_text(const Problem& problem, const PlanOptions& options, int32_t id) {
  const size_t i = id;
  const std::string name = options.names != nullptr ? (*options.names)[i] : "buffer " + std::to_string(id);
  return name + " (" + std::to_string(problem.buffers[i].size) + ")";
}

/// "; in step 7 these are alive: conv1 (4096), relu1 (4096) and 3 more"
std::string fullest_text(const Problem& problem, const PlanOptions& options, size_t space) {
  const FullestStep fullest = fullest_step(problem, static_cast<int32_t>(space));
  std::string text = " because of what is alive in step " + std::to_string(fullest.step) + ": ";
  for (size_t i = 0; i < std::min(kNamed, fullest.buffers.size()); ++i) {
    text += (i == 0 ? "" : ", ") + buffer_text(problem, options, fullest.buffers[i]);
  }
  if (fullest.buffers.size() > kNamed) text += " and " + std::to_string(fullest.buffers.size() - kNamed) + " more";
  return text;
}

Status check_capacities(const Problem& problem, const Plan& plan, const PlanOptions& options) {
  for (size_t s = 0; s < problem.spaces.size(); ++s) {
    const SpaceUse& use = plan.spaces[s];
    const int64_t capacity = problem.spaces[s].capacity;
    if (use.height <= capacity) continue;
    const std::string needs = std::to_string(use.lower_bound) + " bytes, has " + std::to_string(capacity);
    std::string message;
    if (use.lower_bound > capacity) {
      message = "needs " + needs + fullest_text(problem, options, s);
    } else {
      message = "has " + std::to_string(capacity) + " bytes and the best plan found needs " +
                std::to_string(use.height) + "; no plan needs fewer than " + std::to_string(use.lower_bound) +
                ", so a longer search may find one that fits";
    }
    return Failure{Error::kOutOfResources, "space " + std::to_string(s), message};
  }
  return Done{};
}

}  // namespace

Expected<Plan> plan_best(const Problem& problem, const PlanOptions& options) {
  Deadline deadline = options.time_limit > 0 ? Deadline(options.time_limit, options.clock) : Deadline();
  deadline.follow(options.watch);
  BERTH_TRY(check(problem));
  BERTH_TRY(check_fixed(problem));
  Plan plan;
  if (options.planner == Planner::kNaive) {
    BERTH_ASSIGN_OR_RETURN(plan, plan_naive(problem));
  } else {
    Effort effort;
    effort.nodes = options.nodes;
    effort.local_search = std::min(options.nodes, kMostLocalSearchNodes) * kLocalSearchPerNode;
    effort.deadline = deadline;
    plan.offsets.assign(problem.buffers.size(), 0);
    plan.taken.assign(problem.candidates.size(), false);
    for (const SpaceProblem& part : split_spaces(problem)) {
      effort.enough = options.stop_at_capacity ? part.problem.spaces[0].capacity : 0;
      const Choice choice = choose_and_place(part.problem, improver_of(options.planner), &effort);
      for (size_t i = 0; i < part.buffers.size(); ++i) {
        plan.offsets[part.buffers[i]] = choice.offsets[i];
      }
      for (size_t i = 0; i < part.candidates.size(); ++i) {
        plan.taken[part.candidates[i]] = choice.taken[i];
      }
      plan.spaces.push_back({choice.height, choice.bound});
    }
    plan.nodes = effort.used;
    plan.truncated = effort.deadline.was_passed();
  }
  BERTH_TRY(check_capacities(problem, plan, options));
  return plan;
}

Expected<Plan> plan_best(const Problem& problem) { return plan_best(problem, PlanOptions{}); }

}  // namespace berth::packing
