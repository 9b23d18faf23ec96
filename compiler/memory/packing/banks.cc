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
/// How many exact searches a trial makes.
constexpr int64_t kTrialSearches = 16;

/// A filling, and what it fills the banks with.
struct Filled {
  BankBodies bodies;
  Filling filling;
};

class FillingChoice {
 public:
  FillingChoice(const BankProblem& problem, Deadline deadline, bool trial)
      : problem_(problem), deadline_(deadline), trial_(trial) {
    if (trial) budget_.left = kTrialSearches;
  }

  std::optional<Filled> run() {
    bound_ = bank_cost_of_steps(problem_);
    std::vector<BankBodies> forms;
    forms.push_back(make_bank_bodies(problem_, true));
    fill_by_rules(forms.back());
    if (std::any_of(problem_.preferred.begin(), problem_.preferred.end(), [](bool is) { return is; }) && !is_done()) {
      forms.push_back(make_bank_bodies(problem_, false));
      fill_by_rules(forms.back());
    }
    raise_bound();
    const int64_t cost_of_rules = cost();
    for (const BankBodies& bodies : forms) search(bodies);
    if (cost() < cost_of_rules) raise_bound();
    return std::move(best_);
  }

  int64_t bound() const { return bound_; }
  bool truncated() const { return deadline_.was_passed(); }

 private:
  int64_t cost() const { return best_.has_value() ? best_->filling.cost : kUnlimited; }
  /// Whether the best is good enough; without one it never is.
  bool is_done() { return best_.has_value() && (trial_ || cost() <= bound_ || deadline_.passed()); }
  /// That of what looks for a better filling. The first is waited for.
  Deadline* limit() { return best_.has_value() ? &deadline_ : &never_; }

  void keep(const BankBodies& bodies, std::optional<Filling> found) {
    if (found.has_value() && found->cost < cost()) best_ = Filled{bodies, std::move(*found)};
  }

  void fill_by_rules(const BankBodies& bodies) {
    const bool many = bodies.traffic.size() > kManyBodiesOfBanks;
    for (const BankKey key : kBankKeys) {
      if (many && key != BankKey::kTrafficByArea && key != BankKey::kBytes) continue;
      const std::vector<int32_t> order = bank_order(bodies, key);
      if (is_done()) return;
      keep(bodies, fill_at_once(bodies, problem_.banks, order));
      if (is_done()) return;
      keep(bodies, fill_in_turn(bodies, problem_.banks, order, limit(), &budget_));
    }
  }

  void search(const BankBodies& bodies) {
    if (trial_ || is_done()) return;
    bool complete = false;
    keep(bodies, search_fillings(bodies, problem_.banks, cost(), limit(), &complete));
    // With a candidate untied, there are other bodies.
    if (complete && best_.has_value() && problem_.problem.candidates.empty()) bound_ = cost();
  }

  void raise_bound() {
    if (best_.has_value() && !is_done()) bound_ = std::max(bound_, bank_cost_bound(problem_, cost(), &deadline_));
  }

  const BankProblem& problem_;
  Deadline deadline_;
  Deadline never_;
  const bool trial_;
  SearchBudget budget_;
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

/// What the best planner makes of each bank, or the filling itself in a trial and where only that keeps the capacities.
Expected<Plan> pack_again(const BankProblem& problem, const Spread& spread, const Filled& filled,
                          const PlanOptions& options, bool trial) {
  if (!trial) {
    Expected<Plan> best = plan_best(spread.problem, options);
    if (best.ok() || best.error().code != Error::kOutOfResources) return best;
  }
  Plan plan = plan_of(problem, spread, filled);
  BERTH_TRY(validate(spread.problem, plan));
  return plan;
}

Failure no_room(const BankProblem& problem) {
  int64_t held = 0;
  int64_t largest = 0;
  for (const Bank& bank : problem.banks) {
    if (bank.pinned_only) continue;
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
  Problem near = problem.problem;
  for (size_t i = 0; i < problem.pins.size(); ++i) {
    if (problem.pins[i] != kAnyBank && problem.banks[problem.pins[i]].pinned_only) near.buffers[i].size = 0;
  }
  const std::string step = "step " + std::to_string(fullest_step(near, 0).step);
  const std::string hold = "the banks hold " + std::to_string(held);
  const int64_t needed = lower_bound(near);
  if (needed > held) {
    return {Error::kOutOfResources, step,
            "at least " + std::to_string(needed) + " bytes are needed and " + hold + ": " +
                std::to_string(needed - held) + " are missing"};
  }
  return {Error::kOutOfResources, step, "no way was found to lay all buffers into the banks; " + hold};
}

}  // namespace

Expected<BankPlan> fill_banks(const BankProblem& problem, const BankOptions& options) {
  const bool limited = options.time_limit > 0;
  const int64_t begin = limited ? options.clock() : 0;
  FillingChoice choice(problem, limited ? Deadline(options.time_limit, options.clock) : Deadline(), options.trial);
  std::optional<Filled> filled = choice.run();
  if (!filled.has_value()) return no_room(problem);
  BankPlan out;
  for (size_t i = 0; i < problem.problem.buffers.size(); ++i) {
    const int32_t body = filled->bodies.layout.body_of[i];
    const int32_t pin = problem.pins.empty() ? kAnyBank : problem.pins[i];
    out.banks.push_back(body >= 0 ? filled->filling.banks[body] : std::max(pin, 0));
  }
  const Spread spread = packing::spread(problem.problem, problem.banks, out.banks);
  PlanOptions again;
  again.clock = options.clock;
  if (limited) {
    again.time_limit = std::max(1e-9, options.time_limit - static_cast<double>(options.clock() - begin) * 1e-9);
  }
  BERTH_ASSIGN_OR_RETURN(out.plan, pack_again(problem, spread, *filled, again, options.trial));
  out.plan.truncated |= choice.truncated();
  std::vector<bool> taken(problem.problem.candidates.size(), false);
  for (size_t i = 0; i < out.plan.taken.size(); ++i) taken[spread.candidates[i]] = out.plan.taken[i];
  out.plan.taken = std::move(taken);
  out.cost = filled->filling.cost;
  out.lower_bound = std::min(choice.bound(), out.cost);
  return out;
}

}  // namespace berth::packing
