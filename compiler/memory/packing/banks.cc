#include "compiler/memory/packing/banks.h"

#include <algorithm>
#include <string>

#include "compiler/memory/packing/bank_bodies.h"
#include "compiler/memory/packing/bank_bound.h"
#include "compiler/memory/packing/bound.h"
#include "compiler/memory/packing/fill_at_once.h"
#include "compiler/memory/packing/fill_in_turn.h"
#include "compiler/memory/packing/placement.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/search_fillings.h"
#include "compiler/memory/packing/validate.h"

namespace berth::packing {
namespace {

/// From how many bodies only two orders are tried.
constexpr size_t kManyBodiesOfBanks = 2'000;

/// A filling, and what it fills the banks with.
struct Filled {
  BankBodies bodies;
  Filling filling;
};

class FillingChoice {
 public:
  explicit FillingChoice(const BankProblem& problem) : problem_(problem) {}

  std::optional<Filled> run() {
    bound_ = bank_cost_bound(problem_);
    try_bodies(make_bank_bodies(problem_, true));
    const bool tied = std::any_of(problem_.preferred.begin(), problem_.preferred.end(), [](bool is) { return is; });
    if (tied && !is_best()) try_bodies(make_bank_bodies(problem_, false));
    return std::move(best_);
  }

  int64_t bound() const { return bound_; }

 private:
  bool is_best() const { return best_.has_value() && best_->filling.cost <= bound_; }

  void try_bodies(BankBodies bodies) {
    std::optional<Filling> found;
    const auto keep = [&](std::optional<Filling> other) {
      if (other.has_value() && (!found.has_value() || other->cost < found->cost)) found = std::move(other);
    };
    const bool many = bodies.traffic.size() > kManyBodiesOfBanks;
    for (const BankKey key : kBankKeys) {
      if (many && key != BankKey::kTrafficByArea && key != BankKey::kBytes) continue;
      if (found.has_value() && found->cost <= bound_) break;
      const std::vector<int32_t> order = bank_order(bodies, key);
      keep(fill_in_turn(bodies, problem_.banks, order));
      keep(fill_at_once(bodies, problem_.banks, order));
    }
    bool complete = false;
    if (bodies.traffic.size() <= kMostSearched && !(found.has_value() && found->cost <= bound_)) {
      keep(search_fillings(bodies, problem_.banks, found.has_value() ? found->cost : kUnlimited, &complete));
    }
    if (!found.has_value()) return;
    // With a candidate untied, there are other bodies.
    if (complete && problem_.problem.candidates.empty()) bound_ = found->cost;
    if (!best_.has_value() || found->cost < best_->filling.cost) {
      best_ = Filled{std::move(bodies), std::move(*found)};
    }
  }

  const BankProblem& problem_;
  int64_t bound_ = 0;
  std::optional<Filled> best_;
};

/// The problem with a space for each bank, and those of its candidates that can still be taken.
struct Spread {
  Problem problem;
  std::vector<int32_t> candidates;  // of each: its number in the problem of one space
};

Spread spread(const Problem& problem, const std::vector<Bank>& banks, const std::vector<int32_t>& bank_of) {
  Spread spread;
  spread.problem.buffers = problem.buffers;
  for (size_t i = 0; i < bank_of.size(); ++i) spread.problem.buffers[i].space = bank_of[i];
  spread.problem.spaces.clear();
  for (const Bank& bank : banks) spread.problem.spaces.push_back({bank.capacity});
  const auto crosses = [&](const Candidate& candidate) { return bank_of[candidate.from] != bank_of[candidate.to]; };
  std::vector<int32_t> groups;
  for (const Candidate& candidate : problem.candidates) {
    if (candidate.all_or_none != kAlone && crosses(candidate)) groups.push_back(candidate.all_or_none);
  }
  std::sort(groups.begin(), groups.end());
  for (size_t i = 0; i < problem.candidates.size(); ++i) {
    const Candidate& candidate = problem.candidates[i];
    if (crosses(candidate) || std::binary_search(groups.begin(), groups.end(), candidate.all_or_none)) continue;
    spread.problem.candidates.push_back(candidate);
    spread.candidates.push_back(static_cast<int32_t>(i));
  }
  return spread;
}

/// The filling as a plan of `spread`.
Plan plan_of(const BankProblem& problem, const Spread& spread, const Filled& filled) {
  Plan plan;
  plan.offsets = offsets_of(problem.problem, filled.bodies.layout, {filled.filling.positions, 0});
  for (const int32_t i : spread.candidates) plan.taken.push_back(filled.bodies.taken[i]);
  const std::vector<int64_t> bounds = lower_bounds(spread.problem);
  for (size_t k = 0; k < problem.banks.size(); ++k) plan.spaces.push_back({0, bounds[k]});
  for (size_t i = 0; i < plan.offsets.size(); ++i) {
    const Buffer& buffer = spread.problem.buffers[i];
    int64_t& height = plan.spaces[buffer.space].height;
    height = std::max(height, buffer.size == 0 ? 0 : plan.offsets[i] + buffer.size);
  }
  return plan;
}

/// What the best planner makes of each bank, or the filling itself where only that keeps the capacities.
Expected<Plan> pack_again(const BankProblem& problem, const Spread& spread, const Filled& filled) {
  Expected<Plan> best = plan_best(spread.problem);
  if (best.ok() || best.error().code != Error::kOutOfResources) return best;
  Plan plan = plan_of(problem, spread, filled);
  BERTH_TRY(validate(spread.problem, plan));
  return plan;
}

Failure no_room(const BankProblem& problem) {
  int64_t held = 0;
  int64_t largest = 0;
  for (const Bank& bank : problem.banks) {
    held = bank.capacity > kUnlimited - held ? kUnlimited : held + bank.capacity;
    largest = std::max(largest, bank.capacity);
  }
  for (size_t i = 0; i < problem.problem.buffers.size(); ++i) {
    const int32_t pin = problem.pins.empty() ? kAnyBank : problem.pins[i];
    const int64_t room = pin == kAnyBank ? largest : problem.banks[pin].capacity;
    const int64_t size = problem.problem.buffers[i].size;
    if (size <= room) continue;
    return {Error::kOutOfResources, "buffer " + std::to_string(i),
            "has " + std::to_string(size) + " bytes, " + std::to_string(size - room) +
                (pin == kAnyBank ? " more than the largest bank" : " more than its bank")};
  }
  const std::string step = "step " + std::to_string(fullest_step(problem.problem, 0).step);
  const std::string hold = "the banks hold " + std::to_string(held);
  const int64_t needed = lower_bound(problem.problem);
  if (needed > held) {
    return {Error::kOutOfResources, step,
            "at least " + std::to_string(needed) + " bytes are needed and " + hold + ": " +
                std::to_string(needed - held) + " are missing"};
  }
  return {Error::kOutOfResources, step, "no way was found to lay all buffers into the banks; " + hold};
}

}  // namespace

Expected<BankPlan> fill_banks(const BankProblem& problem) {
  FillingChoice choice(problem);
  std::optional<Filled> filled = choice.run();
  if (!filled.has_value()) return no_room(problem);
  BankPlan out;
  for (size_t i = 0; i < problem.problem.buffers.size(); ++i) {
    const int32_t body = filled->bodies.layout.body_of[i];
    const int32_t pin = problem.pins.empty() ? kAnyBank : problem.pins[i];
    out.banks.push_back(body >= 0 ? filled->filling.banks[body] : std::max(pin, 0));
  }
  const Spread spread = packing::spread(problem.problem, problem.banks, out.banks);
  BERTH_ASSIGN_OR_RETURN(out.plan, pack_again(problem, spread, *filled));
  std::vector<bool> taken(problem.problem.candidates.size(), false);
  for (size_t i = 0; i < out.plan.taken.size(); ++i) taken[spread.candidates[i]] = out.plan.taken[i];
  out.plan.taken = std::move(taken);
  out.cost = filled->filling.cost;
  out.lower_bound = std::min(choice.bound(), out.cost);
  return out;
}

}  // namespace berth::packing
