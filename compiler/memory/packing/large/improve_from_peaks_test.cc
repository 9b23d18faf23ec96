// From the peaks outward: sound on any problem, and as low as the peaks allow.
#include "compiler/memory/packing/large/improve_from_peaks.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/memory/packing/bound.h"
#include "compiler/memory/packing/first_placement.h"
#include "compiler/memory/packing/generators.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"

namespace berth::packing {
namespace {

Problem random_problem(uint32_t seed) {
  std::mt19937 random(seed);
  Problem problem;
  const size_t count = 2 + random() % 80;
  const size_t steps = 5 + random() % 100;
  for (size_t i = 0; i < count; ++i) {
    Buffer buffer;
    buffer.alignment = int64_t{1} << (random() % 4);
    buffer.size = 1 + static_cast<int64_t>(random() % 40);
    buffer.lower = static_cast<int64_t>(random() % steps);
    buffer.upper = buffer.lower + 1 + static_cast<int64_t>(random() % (random() % 8 == 0 ? steps : 8));
    problem.buffers.push_back(buffer);
  }
  return problem;
}

BoundedPlacement leave_it(const Layout&, BoundedPlacement best, Effort*) { return best; }

TEST(ImproveFromPeaks, PlansNeverOverlapOnRandomProblems) {
  int changed = 0;
  for (uint32_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Problem problem = random_problem(seed);
    const Layout layout = make_layout(problem);
    BoundedPlacement placed = *first_placement(layout, lower_bound(problem));
    // So high that whatever comes out is kept.
    const int64_t before = placed.placement.height;
    placed.placement.height = 1'000'000;
    Effort effort;
    placed = improve_from_peaks(layout, leave_it, std::move(placed), &effort);
    if (placed.placement.height == 1'000'000)
      placed.placement.height = before;  // one peak, from end to end
    else
      ++changed;
    Plan plan;
    plan.offsets = offsets_of(problem, layout, placed.placement);
    plan.spaces = {{placed.placement.height, 0}};
    const Status sound = validate(problem, plan);
    ASSERT_TRUE(sound.ok()) << sound.error().text();
  }
  EXPECT_GT(changed, 1000);
}

/// A problem of several thousand buffers whose lowest height is known: planted ones, each a peak, and between them
/// buffers that fill half of it, some of which reach over into a peak's neighbour.
Problem ranges(int32_t peaks) {
  Problem problem;
  int64_t now = 0;
  std::mt19937 random(3);
  for (int32_t p = 0; p < peaks; ++p) {
    const Planted planted = planted_problem(static_cast<uint64_t>(1 + p % 3), 40, 0);
    for (Buffer buffer : planted.problem.buffers) {
      buffer.lower += now;
      buffer.upper += now;
      problem.buffers.push_back(buffer);
    }
    now += 40;
    for (int64_t t = 0; t < 40; ++t) {
      Buffer buffer;
      buffer.size = 1 + static_cast<int64_t>(random() % 90);
      buffer.lower = now + t;
      buffer.upper = std::min(now + 40, now + t + 1 + static_cast<int64_t>(random() % 20));
      problem.buffers.push_back(buffer);
    }
    now += 40;
  }
  return problem;
}

TEST(ImproveFromPeaks, FindsTheHeightWhereItIsKnown) {
  const Problem problem = ranges(100);
  ASSERT_GT(problem.buffers.size(), kManyBodies);
  const Expected<Plan> plan = plan_best(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(validate(problem, *plan).ok());
  EXPECT_EQ(plan->spaces[0].height, 1024);
  EXPECT_TRUE(plan->optimal());
}

TEST(ImproveFromPeaks, HugeProblemsComeWithinOnePercentOfTheirBounds) {
  for (const uint64_t seed : {1, 2, 3}) {
    const Expected<Plan> plan = plan_best(long_problem(seed, 20'000));
    ASSERT_TRUE(plan.ok());
    const SpaceUse& use = plan->spaces[0];
    EXPECT_LT(use.height - use.lower_bound, use.lower_bound / 100) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::packing
