// Random modules, pass lists and planners (random_plan.h). BERTH_SEED=N begins there; BERTH_SECONDS=S goes on for that
// long.
#include "tests/plan/random_plan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

namespace berth::plan_test {
namespace {

unsigned long number_of(const char* variable, unsigned long missing) {
  const char* text = std::getenv(variable);
  return text == nullptr ? missing : std::strtoul(text, nullptr, 10);
}

// Holds row 198: the evaluator copies where a plan has views.
TEST(RandomPlan, RandomModulesRunRightWithPoisonInDeadBytes) {
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::seconds seconds(number_of("BERTH_SECONDS", 0));
  const auto first = static_cast<unsigned>(number_of("BERTH_SEED", 1));
  constexpr unsigned kSeeds = 400;
  int ran = 0;
  int delegated = 0;
  Tried all;
  unsigned seed = first;
  for (; seed - first < kSeeds || std::chrono::steady_clock::now() - start < seconds; ++seed) {
    const Tried tried = try_random_plan(seed);
    ASSERT_EQ(tried.problem, "") << "repeat with BERTH_SEED=" << seed;
    ran += tried.runs > 0 ? 1 : 0;
    all.runs += tried.runs;
    all.methods += tried.methods;
    all.followed += tried.followed;
    all.poisoned += tried.poisoned;
    all.poisoned_inside += tried.poisoned_inside;
    all.outputs_as_scratch += tried.outputs_as_scratch;
    all.inputs_in_scratch += tried.inputs_in_scratch;
    all.outputs_in_scratch += tried.outputs_in_scratch;
    all.in_place += tried.in_place;
    all.elided += tried.elided;
    all.reordered += tried.reordered;
    all.spilled += tried.spilled;
    all.has_regions = all.has_regions || tried.has_regions;
    delegated += tried.has_delegates && tried.runs > 0 ? 1 : 0;
  }
  const int tried = static_cast<int>(seed - first);
  std::printf(
      "%d modules of %d ran, %d methods, %d runs; %llu values in place, %llu nodes elided, %d plans reordered, %d "
      "values spilled; "
      "%llu MB poisoned; within delegates %d outputs were scratch, %d inputs and %d outputs lay in it, %llu bytes "
      "poisoned\n",
      ran, tried, all.methods, all.runs, static_cast<unsigned long long>(all.in_place),
      static_cast<unsigned long long>(all.elided), all.reordered, all.spilled,
      static_cast<unsigned long long>(all.poisoned >> 20), all.outputs_as_scratch,
      static_cast<int>(all.inputs_in_scratch), static_cast<int>(all.outputs_in_scratch),
      static_cast<unsigned long long>(all.poisoned_inside));
  EXPECT_GT(ran, tried / 2);
  EXPECT_GT(all.methods, tried);
  EXPECT_GT(all.in_place, 100u);
  EXPECT_GT(all.elided, 10u);
  EXPECT_GT(all.reordered, 10);
  EXPECT_GT(all.spilled, 3);
  EXPECT_GT(all.followed, all.runs / 4);
  EXPECT_GT(all.inputs_in_scratch, 10);
  EXPECT_GT(all.outputs_in_scratch, 10);
  EXPECT_TRUE(all.has_regions);
  EXPECT_GT(delegated, tried / 25);
}

}  // namespace
}  // namespace berth::plan_test
