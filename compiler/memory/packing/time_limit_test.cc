// A time limit cuts any phase short, whatever it is doing. No clock of the machine is asked: time here is how often it
// was looked at.
#include <gtest/gtest.h>

#include "compiler/memory/packing/generators.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"

namespace berth::packing {
namespace {

int64_t limit_looks = 0;

/// A millisecond goes by between two looks.
int64_t look_again() { return ++limit_looks * 1'000'000; }

Plan plan_in(const Problem& problem, double seconds, int64_t nodes = kManyNodes) {
  PlanOptions options;
  options.nodes = nodes;
  options.time_limit = seconds;
  options.clock = look_again;
  limit_looks = 0;
  const Expected<Plan> plan = plan_best(problem, options);
  EXPECT_TRUE(plan.ok());
  EXPECT_TRUE(validate(problem, *plan).ok());
  return *plan;
}

Plan first_plan(const Problem& problem) {
  PlanOptions options;
  options.planner = Planner::kBestFit;
  return *plan_best(problem, options);
}

// Once a search asked for minutes at a time, and looked at the clock between two of them only.
TEST(TimeLimit, IsNoticedWithinASearch) {
  const Problem problem = planted_problem(3, 320, 0).problem;
  const Plan plan = plan_in(problem, 2);
  EXPECT_TRUE(plan.truncated);
  EXPECT_LE(limit_looks, 2002);
  // A node of 320 bodies takes some microseconds; a look is due every 50 of them.
  EXPECT_GT(plan.nodes, 1000);
  EXPECT_LT(plan.nodes, 2000 * 50);
}

TEST(TimeLimit, AFirstPlanIsMadeHoweverShortItIs) {
  for (const Problem& problem : {planted_problem(1, 160, 0).problem, long_problem(1, 20'000)}) {
    const Plan plan = plan_in(problem, 1e-9);
    EXPECT_TRUE(plan.truncated);
    EXPECT_EQ(plan.offsets, first_plan(problem).offsets);
    EXPECT_LE(limit_looks, 2);
  }
}

// Wherever it strikes, in a sweep, an order that is placed, a repair or a search: a whole plan comes out, no higher
// than the first, and no planner goes on.
TEST(TimeLimit, MayStrikeAnywhere) {
  const Problem problems[] = {planted_problem(1, 80, 0).problem, long_problem(3, 6000), long_problem(2, 30'000)};
  for (const Problem& problem : problems) {
    const int64_t first = first_plan(problem).spaces[0].height;
    for (int64_t ms = 1; ms < 500; ms += 1 + ms / 2) {
      const Plan plan = plan_in(problem, 1e-3 * static_cast<double>(ms));
      EXPECT_LE(plan.spaces[0].height, first);
      EXPECT_LE(limit_looks, ms + 2);
    }
  }
}

TEST(TimeLimit, IsCheckedOftenWithManyBuffers) {
  const Plan plan = plan_in(long_problem(3, 10'000), 1e6, 10'000);
  EXPECT_FALSE(plan.optimal());  // so all the work that may be done was done: a second or so
  EXPECT_GT(limit_looks, 400);
}

TEST(TimeLimit, OneThatIsNotReachedChangesNothing) {
  const Problem problem = planted_problem(5, 120, 1).problem;
  PlanOptions options;
  const Expected<Plan> free = plan_best(problem, options);
  const Plan limited = plan_in(problem, 1e6, options.nodes);
  EXPECT_FALSE(limited.truncated);
  EXPECT_EQ(free->offsets, limited.offsets);
}

}  // namespace
}  // namespace berth::packing
