// Banks against exhaustion, against ExecuTorch's greedy method and against a hole that no order finds.
#include "compiler/memory/packing/banks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#include "base/seeds_testing.h"
#include "compiler/memory/packing/bank_bound.h"
#include "compiler/memory/packing/bank_wishes.h"
#include "compiler/memory/packing/bound.h"
#include "compiler/memory/packing/packing_testing.h"
#include "compiler/memory/packing/validate.h"

namespace berth::packing {
namespace {

/// The plan keeps the capacities and the pins, costs what it says, and no buffers share bytes that must not.
void expect_sound(const BankProblem& problem, const BankPlan& plan) {
  Problem spread = problem.problem;
  spread.spaces.clear();
  for (const Bank& bank : problem.banks) spread.spaces.push_back({bank.capacity});
  ASSERT_EQ(plan.banks.size(), spread.buffers.size());
  int64_t cost = 0;
  for (size_t i = 0; i < plan.banks.size(); ++i) {
    spread.buffers[i].space = plan.banks[i];
    cost += spread.buffers[i].size == 0 ? 0 : problem.traffic[i] * problem.banks[plan.banks[i]].cost;
    const bool pinned = !problem.pins.empty() && problem.pins[i] != kAnyBank;
    EXPECT_TRUE(!pinned || plan.banks[i] == problem.pins[i]) << i;
  }
  // Only candidates within a bank are taken; the others are left out for the judge, who wants none of two spaces.
  std::vector<bool> taken;
  spread.candidates.clear();
  for (size_t i = 0; i < problem.problem.candidates.size(); ++i) {
    const Candidate& candidate = problem.problem.candidates[i];
    if (plan.banks[candidate.from] == plan.banks[candidate.to]) {
      spread.candidates.push_back(candidate);
      spread.candidates.back().all_or_none = kAlone;
      taken.push_back(plan.plan.taken[i]);
    } else {
      EXPECT_FALSE(plan.plan.taken[i]);
    }
  }
  Plan judged = plan.plan;
  judged.taken = taken;
  const Status valid = validate(spread, judged);
  EXPECT_TRUE(valid.ok()) << valid.error().text();
  EXPECT_EQ(cost, plan.cost);
  EXPECT_LE(plan.lower_bound, plan.cost);
  for (size_t k = 0; k < problem.banks.size(); ++k) {
    EXPECT_LE(plan.plan.spaces[k].height, problem.banks[k].capacity);
  }
}

TEST(Banks, WhatMovesMostStaysInTheFastOne) {
  BankProblem problem;
  problem.problem.buffers = {buffer(4, 0, 5), buffer(4, 0, 5), buffer(4, 0, 5)};
  problem.traffic = {8, 400, 800};
  problem.banks = {{8, 0}, {64, 1}};
  const auto plan = fill_banks(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  expect_sound(problem, *plan);
  EXPECT_EQ(plan->banks, (std::vector<int32_t>{1, 0, 0}));
  EXPECT_EQ(plan->cost, 8);
  EXPECT_TRUE(plan->optimal());
}

TEST(Banks, APinIsKeptAlthoughItCosts) {
  BankProblem problem;
  problem.problem.buffers = {buffer(4, 0, 5), buffer(4, 0, 5), buffer(4, 0, 5)};
  problem.traffic = {8, 400, 800};
  problem.banks = {{8, 0}, {64, 1}};
  problem.pins = {0, kAnyBank, 1};
  const auto plan = fill_banks(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  expect_sound(problem, *plan);
  EXPECT_EQ(plan->banks, (std::vector<int32_t>{0, 0, 1}));
}

TEST(Banks, AResultStaysInPlaceUnlessItsPinDiffers) {
  BankProblem problem;
  problem.problem.buffers = {buffer(8, 0, 3), buffer(8, 2, 5)};
  problem.problem.candidates = {candidate(1, 0)};
  problem.preferred = {true};
  problem.traffic = {8, 8};
  problem.banks = {{8, 0}, {64, 1}};
  const auto plan = fill_banks(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  expect_sound(problem, *plan);
  EXPECT_EQ(plan->cost, 0);  // apart they do not fit
  EXPECT_EQ(plan->plan.taken, std::vector<bool>{true});

  problem.pins = {kAnyBank, 1};
  const auto pinned = fill_banks(problem);
  ASSERT_TRUE(pinned.ok()) << pinned.error().text();
  expect_sound(problem, *pinned);
  EXPECT_EQ(pinned->banks, (std::vector<int32_t>{0, 1}));
}

TEST(Banks, GroupsThatAreCutAreNotTaken) {
  BankProblem problem;
  problem.problem.buffers = {buffer(4, 0, 3), buffer(4, 1, 3), buffer(8, 2, 5)};
  problem.problem.candidates = {candidate(0, 2, 0, 1), candidate(1, 2, 4, 1)};
  problem.preferred = {true, true};
  problem.traffic = {4, 4, 8};
  problem.banks = {{16, 0}, {64, 1}};
  problem.pins = {1, kAnyBank, kAnyBank};
  const auto plan = fill_banks(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  expect_sound(problem, *plan);
  EXPECT_EQ(plan->plan.taken, (std::vector<bool>{false, false}));
}

TEST(Banks, WhatIsMissingIsSaid) {
  const auto error = [](const BankProblem& problem) {
    const auto plan = fill_banks(problem);
    return plan.ok() ? std::string("fits") : plan.error().text();
  };
  BankProblem problem;
  problem.problem.buffers = {buffer(6, 0, 5), buffer(4, 3, 7)};
  problem.traffic = {1, 1};
  problem.banks = {{6, 0}, {3, 1}};
  EXPECT_EQ(error(problem), "step 3: at least 10 bytes are needed and the banks hold 9: 1 are missing");
  problem.banks = {{5, 0}, {100, 1}};
  problem.pins = {0, kAnyBank};
  EXPECT_EQ(error(problem), "buffer 0: has 6 bytes, 1 more than its bank");
  problem.pins.clear();
  problem.banks = {{5, 0}, {5, 1}};
  EXPECT_EQ(error(problem), "buffer 0: has 6 bytes, 1 more than the largest bank");
  problem.banks = {{7, 0}, {3, 1}};
  EXPECT_EQ(error(problem), "step 3: no way was found to lay all buffers into the banks; the banks hold 10");
}

TEST(Banks, NothingIsAnAnswerForNothing) {
  BankProblem problem;
  problem.banks = {{0, 0}};
  const auto plan = fill_banks(problem);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(plan->cost, 0);
  problem.problem.buffers = {buffer(0, 0, 1)};
  problem.traffic = {0};
  EXPECT_TRUE(fill_banks(problem).ok());
}

BankProblem random_problem(std::mt19937& random, int count) {
  const auto from = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  BankProblem problem;
  for (int i = 0; i < count; ++i) {
    const int lower = from(0, 12);
    problem.problem.buffers.push_back(buffer(from(1, 12), lower, lower + from(1, 6)));
    problem.traffic.push_back(from(1, 100));
    problem.pins.push_back(from(0, 9) == 0 ? from(0, 1) : kAnyBank);
  }
  const int64_t load = fullest_step(problem.problem, 0).bytes;
  problem.banks = {{std::max<int64_t>(load * from(2, 9) / 10, 1), 0}, {load * from(3, 9) / 10, 1}, {kUnlimited, 20}};
  return problem;
}

/// Whether the buffers fit, by the definition: in some order each lies as low as those before it let it.
bool fits(const Problem& problem, std::vector<size_t> ids, int64_t capacity) {
  std::sort(ids.begin(), ids.end());
  do {
    std::vector<int64_t> offsets(problem.buffers.size(), 0);
    int64_t height = 0;
    for (size_t k = 0; k < ids.size(); ++k) {
      const Buffer& own = problem.buffers[ids[k]];
      int64_t& offset = offsets[ids[k]];
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t j = 0; j < k; ++j) {
          const Buffer& other = problem.buffers[ids[j]];
          const int64_t end = offsets[ids[j]] + other.size;
          if (own.lower >= other.upper || other.lower >= own.upper) continue;
          if (offset >= end || offsets[ids[j]] >= offset + own.size) continue;
          offset = end;
          moved = true;
        }
      }
      height = std::max(height, offset + own.size);
    }
    if (height <= capacity) return true;
  } while (std::next_permutation(ids.begin(), ids.end()));
  return false;
}

int64_t cost_by_exhaustion(const BankProblem& problem) {
  const size_t count = problem.problem.buffers.size();
  const size_t banks = problem.banks.size();
  int64_t choices = 1;
  for (size_t i = 0; i < count; ++i) choices *= static_cast<int64_t>(banks);
  int64_t least = kUnlimited;
  for (int64_t choice = 0; choice < choices; ++choice) {
    std::vector<std::vector<size_t>> in(banks);
    int64_t cost = 0;
    bool kept = true;
    int64_t rest = choice;
    for (size_t i = 0; i < count; ++i, rest /= static_cast<int64_t>(banks)) {
      const size_t bank = rest % banks;
      kept = kept && (problem.pins[i] == kAnyBank || problem.pins[i] == static_cast<int32_t>(bank));
      cost += problem.traffic[i] * problem.banks[bank].cost;
      in[bank].push_back(i);
    }
    if (!kept || cost >= least) continue;
    bool all = true;
    for (size_t k = 0; all && k < banks; ++k) all = fits(problem.problem, in[k], problem.banks[k].capacity);
    if (all) least = cost;
  }
  return least;
}

TEST(Banks, FewBuffersAreSolved) {
  const uint32_t seed = berth::testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 60; ++i) {
    const BankProblem problem = random_problem(random, 6);
    const int64_t least = cost_by_exhaustion(problem);
    const auto plan = fill_banks(problem);
    ASSERT_EQ(plan.ok(), least != kUnlimited) << i;
    if (!plan.ok()) continue;
    expect_sound(problem, *plan);
    EXPECT_EQ(plan->cost, least) << i;
    EXPECT_TRUE(plan->optimal()) << i;
  }
}

/// ExecuTorch's banked_greedy, after the description of #21821: pins before all others, then the largest first, each
/// into the first bank with a hole for it among what is alive with it.
int64_t cost_by_banked_greedy(const BankProblem& problem) {
  const std::vector<Buffer>& buffers = problem.problem.buffers;
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const bool a_pinned = problem.pins[a] != kAnyBank;
    const bool b_pinned = problem.pins[b] != kAnyBank;
    return a_pinned != b_pinned ? a_pinned : buffers[a].size > buffers[b].size;
  });
  std::vector<int32_t> bank_of(buffers.size(), -1);
  std::vector<int64_t> offsets(buffers.size(), 0);
  int64_t cost = 0;
  for (const size_t i : order) {
    for (size_t k = 0; k < problem.banks.size() && bank_of[i] < 0; ++k) {
      if (problem.pins[i] != kAnyBank && problem.pins[i] != static_cast<int32_t>(k)) continue;
      int64_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t j = 0; j < buffers.size(); ++j) {
          if (bank_of[j] != static_cast<int32_t>(k)) continue;
          const bool together = buffers[i].lower < buffers[j].upper && buffers[j].lower < buffers[i].upper;
          const int64_t end = offsets[j] + buffers[j].size;
          if (!together || offset >= end || offsets[j] >= offset + buffers[i].size) continue;
          offset = end;
          moved = true;
        }
      }
      if (offset > problem.banks[k].capacity - buffers[i].size) continue;
      bank_of[i] = static_cast<int32_t>(k);
      offsets[i] = offset;
      cost += problem.traffic[i] * problem.banks[k].cost;
    }
    if (bank_of[i] < 0) return kUnlimited;
  }
  return cost;
}

TEST(Banks, CostsNeverExceedThoseOfBankedGreedy) {
  const uint32_t seed = berth::testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int cheaper = 0;
  for (int i = 0; i < 100; ++i) {
    const BankProblem problem = random_problem(random, 40);
    const int64_t theirs = cost_by_banked_greedy(problem);
    const auto plan = fill_banks(problem);
    if (!plan.ok()) {
      EXPECT_EQ(theirs, kUnlimited) << i;
      continue;
    }
    expect_sound(problem, *plan);
    EXPECT_LE(plan->cost, theirs) << i;
    cheaper += plan->cost < theirs ? 1 : 0;
  }
  EXPECT_GT(cheaper, 50);
}

/// With candidates between some neighbours in time, as operators in place offer them.
BankProblem random_problem_in_place(std::mt19937& random, int count) {
  BankProblem problem = random_problem(random, count);
  std::vector<Buffer>& buffers = problem.problem.buffers;
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t j = 0; j < count; ++j) {
      if (buffers[i].lower + 1 != buffers[j].upper || buffers[i].size != buffers[j].size) continue;
      problem.problem.candidates.push_back(candidate(i, j));
      problem.preferred.push_back(std::uniform_int_distribution<int>(0, 1)(random) == 1);
      break;
    }
  }
  // Of candidates into one buffer, the first is preferred.
  std::vector<bool> succeeded(buffers.size(), false);
  for (size_t c = 0; c < problem.preferred.size(); ++c) {
    const size_t to = problem.problem.candidates[c].to;
    problem.preferred[c] = problem.preferred[c] && !succeeded[to];
    succeeded[to] = succeeded[to] || problem.preferred[c];
  }
  return problem;
}

TEST(Banks, TheBoundIsNeverOverWhatAPlanCosts) {
  const uint32_t seed = berth::testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  int held = 0;
  for (int i = 0; i < 200; ++i) {
    const bool in_place = i % 2 == 1;
    const BankProblem problem = in_place ? random_problem_in_place(random, 8 + i % 30) : random_problem(random, 6);
    const auto plan = fill_banks(problem);
    if (!plan.ok()) continue;
    expect_sound(problem, *plan);
    // With more to look for than there is, so that nothing but the proof ends the search.
    Deadline never;
    const int64_t bound = bank_cost_bound(problem, 2 * plan->cost + 1000, &never);
    EXPECT_LE(bound, in_place ? plan->cost : cost_by_exhaustion(problem)) << i;
    EXPECT_LE(bank_cost_of_steps(problem), bound) << i;
    held += bound > 0 ? 1 : 0;
  }
  EXPECT_GT(held, 50);
}

TEST(Banks, TheBoundIsTight) {
  const uint32_t seed = berth::testing::new_seed();
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  double cost = 0;
  double bound = 0;
  double of_steps = 0;
  for (int i = 0; i < 30; ++i) {
    const BankProblem problem = i % 2 == 1 ? random_problem_in_place(random, 40) : random_problem(random, 40);
    const auto plan = fill_banks(problem);
    if (!plan.ok() || plan->cost == 0) continue;
    cost += 1;
    bound += static_cast<double>(plan->lower_bound) / static_cast<double>(plan->cost);
    of_steps += static_cast<double>(bank_cost_of_steps(problem)) / static_cast<double>(plan->cost);
  }
  RecordProperty("bound", std::to_string(bound / cost));
  RecordProperty("of_steps", std::to_string(of_steps / cost));
  EXPECT_GT(bound, 0.85 * cost);
  EXPECT_GT(bound, 1.2 * of_steps);
}

int64_t fake_now = 0;
int64_t looks = 0;
int64_t fake_clock() {
  ++looks;
  return fake_now += 1'000'000;
}

TEST(Banks, TheTimeLimitEndsTheSearchWithAPlan) {
  std::mt19937 random(7);
  int cut_short = 0;
  int dearer = 0;
  for (int i = 0; i < 20; ++i) {
    const BankProblem problem = random_problem(random, 60);
    const auto whole = fill_banks(problem);
    const auto cut = fill_banks(problem, {1e-9, fake_clock});
    looks = 0;
    const auto limited = fill_banks(problem, {1e9, fake_clock});
    ASSERT_EQ(whole.ok(), cut.ok()) << i;
    if (!whole.ok()) continue;
    expect_sound(problem, *cut);
    EXPECT_GE(cut->cost, whole->cost) << i;
    cut_short += cut->plan.truncated ? 1 : 0;
    dearer += cut->cost > whole->cost ? 1 : 0;
    // A limit that is not reached changes nothing, and is looked at.
    EXPECT_EQ(limited->cost, whole->cost) << i;
    EXPECT_EQ(limited->plan.offsets, whole->plan.offsets) << i;
    EXPECT_FALSE(limited->plan.truncated) << i;
    EXPECT_GT(looks, 2) << i;
  }
  EXPECT_GT(cut_short, 10);
  EXPECT_GT(dearer, 5);
}

TEST(Banks, WishesAreKeptAsFarAsAllFits) {
  BankProblem problem;
  problem.problem.buffers = {buffer(4, 0, 5), buffer(4, 0, 5), buffer(4, 0, 5)};
  problem.traffic = {8, 400, 800};
  problem.banks = {{8, 0}, {4, 1}};
  const auto banks_for = [&](const std::vector<int32_t>& wishes) {
    const auto plan = fill_banks_with_wishes(problem, wishes);
    EXPECT_TRUE(plan.ok()) << plan.error().text();
    if (!plan.ok()) return std::vector<int32_t>{};
    expect_sound(problem, *plan);
    return plan->banks;
  };
  EXPECT_EQ(banks_for({kAnyBank, 1, kAnyBank}), (std::vector<int32_t>{0, 1, 0}));
  // Both do not fit: that which moves more gets it.
  EXPECT_EQ(banks_for({1, 1, kAnyBank}), (std::vector<int32_t>{0, 1, 0}));
  problem.pins = {1, kAnyBank, kAnyBank};
  EXPECT_EQ(banks_for({kAnyBank, 1, kAnyBank}), (std::vector<int32_t>{1, 0, 0}));
  problem.banks = {{8, 0}, {3, 1}};
  problem.pins.clear();
  EXPECT_EQ(fill_banks_with_wishes(problem, {1, kAnyBank, kAnyBank}).error().text(),
            fill_banks(problem).error().text());
}

}  // namespace
}  // namespace berth::packing
