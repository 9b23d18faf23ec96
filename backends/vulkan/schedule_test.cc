#include "backends/vulkan/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace berth::vulkan {
namespace {

std::vector<Accesses> random_steps(std::mt19937& random) {
  const auto below = [&](uint64_t n) { return random() % n; };
  std::vector<Accesses> steps(1 + below(30));
  for (Accesses& step : steps) {
    step.resize(below(5));
    for (Access& access : step) {
      const uint64_t begin = below(40);
      access = {1 + below(3), begin, begin + below(12), below(3) == 0, false};
      access.in_any_order = access.writes && below(2) == 0;
    }
  }
  return steps;
}

// Written another way than in schedule.cc: every byte of both.
bool must_wait(const Accesses& a, const Accesses& b) {
  for (const Access& x : a) {
    for (uint64_t byte = x.begin; byte < x.end; ++byte) {
      for (const Access& y : b) {
        if (x.block != y.block || byte < y.begin || byte >= y.end || (x.in_any_order && y.in_any_order)) continue;
        if (x.writes || y.writes) return true;
      }
    }
  }
  return false;
}

size_t longest_chain(const std::vector<Accesses>& steps) {
  std::vector<size_t> length(steps.size(), 1);
  for (size_t i = 0; i < steps.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (must_wait(steps[j], steps[i])) length[i] = std::max(length[i], length[j] + 1);
    }
  }
  return *std::max_element(length.begin(), length.end());
}

TEST(Schedule, KeepsTheOrderOfRandomStepsWithOneBarrierALevel) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const std::vector<Accesses> steps = random_steps(random);
    const Schedule made = schedule(steps);
    std::string hazard;
    ASSERT_TRUE(keeps_order(steps, made, &hazard)) << "seed " << seed << ": " << hazard;
    ASSERT_EQ(made.barriers.size() + 1, longest_chain(steps)) << "seed " << seed;
  }
}

TEST(Schedule, EachBarrierIsMissedWhenItIsNotThere) {
  size_t removed = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const std::vector<Accesses> steps = random_steps(random);
    const Schedule made = schedule(steps);
    for (size_t i = 0; i < made.barriers.size(); ++i, ++removed) {
      Schedule less = made;
      less.barriers.erase(less.barriers.begin() + static_cast<std::ptrdiff_t>(i));
      std::string hazard;
      ASSERT_FALSE(keeps_order(steps, less, &hazard)) << "seed " << seed << ", barrier " << i;
      ASSERT_NE(hazard.find("without a barrier"), std::string::npos) << hazard;
    }
  }
  EXPECT_GT(removed, 1000u);
}

TEST(Schedule, EachKindOfHazardIsFound) {
  struct Case {
    bool first_writes, second_writes;
    const char* hazard;
  };
  for (const Case& c : {Case{true, false, "step 1 reads what step 0 writes, without a barrier"},
                        Case{false, true, "step 1 writes what step 0 reads, without a barrier"},
                        Case{true, true, "step 1 writes what step 0 writes, without a barrier"}}) {
    const std::vector<Accesses> steps = {{{1, 0, 8, c.first_writes}}, {{1, 7, 9, c.second_writes}}};
    std::string hazard;
    EXPECT_FALSE(keeps_order(steps, {{0, 1}, {}}, &hazard));
    EXPECT_EQ(hazard, c.hazard);
    EXPECT_FALSE(keeps_order(steps, {{1, 0}, {1}}, &hazard)) << "the wrong way round";
    EXPECT_TRUE(keeps_order(steps, {{0, 1}, {1}}, &hazard));
  }
}

TEST(Schedule, ReadersNeighboursAndOtherBlocksNeedNoBarrier) {
  const std::vector<Accesses> steps = {
      {{1, 0, 8, false}}, {{1, 0, 8, false}}, {{1, 8, 9, true}}, {{2, 0, 8, true}}, {{1, 3, 3, true}}};
  EXPECT_TRUE(schedule(steps).barriers.empty());
}

TEST(Schedule, WritesInAnyOrderWaitForReadsAndOtherWritesAlone) {
  const Access any = {1, 0, 4, true, true}, reads = {1, 0, 4, false, false}, writes = {1, 0, 4, true, false};
  const std::vector<Accesses> alone = {{any}, {any}, {any}};
  EXPECT_TRUE(schedule(alone).barriers.empty());
  std::string hazard;
  EXPECT_TRUE(keeps_order(alone, {{2, 0, 1}, {}}, &hazard)) << hazard;
  for (const Access& other : {reads, writes}) {
    const std::vector<Accesses> before = {{other}, {any}, {any}}, behind = {{any}, {any}, {other}};
    EXPECT_EQ(schedule(before).barriers, std::vector<uint32_t>{1});
    EXPECT_EQ(schedule(behind).barriers, std::vector<uint32_t>{2});
    EXPECT_FALSE(keeps_order(before, {{0, 1, 2}, {2}}, &hazard));
    EXPECT_FALSE(keeps_order(behind, {{0, 1, 2}, {1}}, &hazard));
    EXPECT_FALSE(keeps_order(behind, {{0, 2, 1}, {1}}, &hazard));
  }
}

TEST(Schedule, StepsThatRunTwiceOrNeverAreFound) {
  const std::vector<Accesses> steps = {{}, {}};
  std::string hazard;
  EXPECT_FALSE(keeps_order(steps, {{0, 0}, {}}, &hazard));
  EXPECT_FALSE(keeps_order(steps, {{0}, {}}, &hazard));
  EXPECT_FALSE(keeps_order(steps, {{0, 1, 1}, {}}, &hazard));
  EXPECT_FALSE(keeps_order(steps, {{0, 2}, {}}, &hazard));
}

}  // namespace
}  // namespace berth::vulkan
