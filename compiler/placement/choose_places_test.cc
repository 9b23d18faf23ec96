#include "compiler/placement/choose_places.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/seeds_testing.h"
#include "base/splitmix64.h"
#include "base/stopwatch.h"

namespace berth::placement {
namespace {

PlaceProblem random_problem(SplitMix64& random, int32_t places, int32_t items) {
  PlaceProblem problem;
  problem.places = places;
  for (int32_t i = 0; i < items; ++i) {
    problem.items.emplace_back();
    for (int32_t place = 0; place < places; ++place) {
      problem.items.back().costs.push_back(random.below(6) == 0 ? kNever : random.below(20));
    }
    problem.items.back().costs[random.below(places)] = random.below(20);
  }
  for (int64_t i = random.below(2 * items + 1); i > 0; --i) {
    PlaceProblem::Flow flow;
    flow.maker = static_cast<int32_t>(random.below(items));
    for (int64_t reader = random.below(4); reader >= 0; --reader) {
      flow.readers.push_back(static_cast<int32_t>(random.below(items)));
    }
    for (int32_t from = 0; from < places; ++from) {
      for (int32_t to = 0; to < places; ++to) flow.costs.push_back(from == to ? 0 : random.below(15));
    }
    problem.flows.push_back(std::move(flow));
  }
  return problem;
}

// Every division there is, of the items to places that `may` names.
template <typename May>
int64_t least_of_all(const PlaceProblem& problem, May&& may) {
  std::vector<int32_t> at(problem.items.size(), 0);
  int64_t least = kNever;
  for (;;) {
    bool allowed = true;
    for (size_t i = 0; i < at.size(); ++i) allowed = allowed && may(i, at[i]);
    if (allowed) least = std::min(least, cost_of(problem, at));
    size_t i = 0;
    while (i < at.size() && ++at[i] == problem.places) at[i++] = 0;
    if (i == at.size()) return least;
  }
}

int64_t least_of_all(const PlaceProblem& problem) {
  return least_of_all(problem, [](size_t, int32_t) { return true; });
}

TEST(ChoosePlaces, NoDivisionBetweenTwoPlacesIsCheaper) {
  testing::for_each_seed(400, [](unsigned seed) {
    SplitMix64 random(seed);
    const PlaceProblem problem = random_problem(random, 2, static_cast<int32_t>(1 + random.below(10)));
    EXPECT_EQ(cost_of(problem, choose_places(problem)), least_of_all(problem));
  });
}

TEST(ChoosePlaces, OfThreePlacesNoTwoAndNoneAloneIsCheaper) {
  testing::for_each_seed(200, [](unsigned seed) {
    SplitMix64 random(seed);
    const PlaceProblem problem = random_problem(random, 3, static_cast<int32_t>(1 + random.below(7)));
    const std::vector<int32_t> at = choose_places(problem);
    const int64_t chosen = cost_of(problem, at);
    EXPECT_GE(chosen, least_of_all(problem));
    for (int32_t out = 0; out < 3; ++out) {
      // With what is at one place left there, no division of the rest is cheaper.
      EXPECT_EQ(chosen,
                least_of_all(problem, [&](size_t i, int32_t place) { return (at[i] == out) == (place == out); }));
    }
    for (int32_t place = 0; place < 3; ++place) EXPECT_LE(chosen, cost_of(problem, all_at(problem, place)));
    for (int32_t out = 0; out < 3; ++out) {
      // Where every item can be at one of the two.
      const auto can = [&](const PlaceProblem::Item& item) {
        return item.costs[(out + 1) % 3] < kNever || item.costs[(out + 2) % 3] < kNever;
      };
      if (!std::all_of(problem.items.begin(), problem.items.end(), can)) continue;
      EXPECT_LE(chosen, least_of_all(problem, [&](size_t, int32_t place) { return place != out; }));
    }
  });
}

TEST(ChoosePlaces, AValueThatSeveralReadIsCopiedOnce) {
  // Three readers gain 4 each where a copy takes 10: two would not pay for it.
  PlaceProblem problem;
  problem.places = 2;
  problem.items = {{{0, kNever}}, {{4, 0}}, {{4, 0}}, {{4, 0}}};
  problem.flows = {{0, {1, 2, 3}, {0, 10, 10, 0}}};
  EXPECT_EQ(choose_places(problem), (std::vector<int32_t>{0, 1, 1, 1}));
  problem.items.pop_back();
  problem.flows[0].readers.pop_back();
  EXPECT_EQ(choose_places(problem), (std::vector<int32_t>{0, 0, 0}));
}

TEST(ChoosePlaces, OfEqualPlacesTheFirstIsTaken) {
  PlaceProblem problem;
  problem.places = 3;
  problem.items = {{{5, 5, 5}}, {{0, 0, 0}}, {{kNever, 2, 2}}};
  EXPECT_EQ(choose_places(problem), (std::vector<int32_t>{0, 0, 1}));
}

TEST(ChoosePlaces, LongChainsTakeNoTimeWorthSpeakingOf) {
  SplitMix64 random(7);
  PlaceProblem problem;
  problem.places = 3;
  for (int32_t i = 0; i < 5'000; ++i) {
    problem.items.push_back({{random.below(1000), random.below(1000), random.below(1000)}});
    if (i == 0) continue;
    PlaceProblem::Flow flow{i - 1, {i}, std::vector<int64_t>(9, 300)};
    if (i > 50) flow.readers.push_back(i - 50);
    for (int32_t place = 0; place < 3; ++place) flow.costs[4 * place] = 0;
    problem.flows.push_back(std::move(flow));
  }
  const Stopwatch watch;
  const int64_t chosen = cost_of(problem, choose_places(problem));
  for (int32_t place = 0; place < 3; ++place) EXPECT_LT(chosen, cost_of(problem, all_at(problem, place)));
  EXPECT_LT(watch.seconds(), 30);
  RecordProperty("milliseconds", static_cast<int>(watch.milliseconds()));
}

}  // namespace
}  // namespace berth::placement
