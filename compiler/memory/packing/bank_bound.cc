#include "compiler/memory/packing/bank_bound.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compiler/memory/packing/search_choices.h"

namespace berth::packing {
namespace {

/// How many buffers are looked at in all sections together; beyond that the bound says nothing.
constexpr int64_t kMostLooked = 50'000'000;
/// What sums of fractions may be off by.
constexpr double kRounding = 1 - 1e-9;

struct Alive {
  double rate;  // traffic for each byte
  int64_t bytes;
};

/// What it costs to have these bytes at one time: those that move most in the cheapest banks.
double cheapest(std::vector<Alive>* alive, const std::vector<Bank>& banks) {
  std::sort(alive->begin(), alive->end(), [](const Alive& a, const Alive& b) { return a.rate > b.rate; });
  double cost = 0;
  size_t bank = 0;
  int64_t room = banks[0].capacity;
  for (Alive& buffer : *alive) {
    while (buffer.bytes > 0 && bank < banks.size()) {
      const int64_t here = std::min(buffer.bytes, room);
      cost += buffer.rate * static_cast<double>(here) * static_cast<double>(banks[bank].cost);
      buffer.bytes -= here;
      room -= here;
      if (room == 0 && ++bank < banks.size()) room = banks[bank].capacity;
    }
  }
  return cost;
}

}  // namespace

int64_t bank_cost_of_steps(const BankProblem& problem) {
  const BankChoices choices = choices_of_buffers(problem);
  std::vector<std::vector<Alive>> alive(choices.sections);
  int64_t looked = 0;
  for (const BankItem& item : choices.items) {
    for (int32_t r = item.begin; r < item.end; ++r) {
      const BankRun& run = choices.runs[r];
      looked += run.upper - run.lower;
      if (looked > kMostLooked) return 0;
      for (int32_t s = run.lower; s < run.upper; ++s) {
        alive[s].push_back({static_cast<double>(item.traffic) / static_cast<double>(run.bytes), run.bytes});
      }
    }
  }
  double bound = 0;
  for (std::vector<Alive>& together : alive) bound = std::max(bound, cheapest(&together, problem.banks));
  return static_cast<int64_t>(std::ceil(bound * kRounding - 1e-6));
}

int64_t bank_cost_bound(const BankProblem& problem, int64_t cost, Deadline* deadline) {
  const int64_t of_steps = bank_cost_of_steps(problem);
  const BankChoices choices = choices_of_buffers(problem);
  if (of_steps >= cost || !choices.has_small_tables()) return std::min(of_steps, cost);
  BankPrices prices(choices);
  prices.improve(cost, deadline);
  const int64_t bound = std::min(std::max(of_steps, prices.bound()), cost);
  if (bound == cost || choices.items.size() > kMostItemsSearched) return bound;
  const auto take = [](const std::vector<int32_t>&, int64_t) { return ChoiceVerdict::kTaken; };
  const ChoiceSearchResult found = search_choices(choices, prices, cost, deadline, take);
  return found.complete ? found.below : bound;
}

}  // namespace berth::packing
