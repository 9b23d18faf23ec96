// The memory planners: time and height. Arguments: seed, buffers or pieces, slack in percent.
//
// `gap_percent` is the height over the lower bound; `solved` counts planted problems that fit below their planted
// height.
#include <benchmark/benchmark.h>

#include "compiler/memory/packing/bound.h"
#include "compiler/memory/packing/generators.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/packing/validate.h"

namespace berth::packing {
namespace {

double gap_percent(const Plan& plan) {
  const SpaceUse& use = plan.spaces[0];
  return 100.0 * static_cast<double>(use.height - use.lower_bound) / static_cast<double>(use.lower_bound);
}

/// Runs a planner on a problem.
void plan_again_and_again(benchmark::State& state, const Problem& problem, const PlanOptions& options) {
  double gap = 0;
  double nodes = 0;
  for (auto _ : state) {
    const Expected<Plan> plan = plan_best(problem, options);
    if (!plan.ok()) {
      state.SkipWithError(plan.error().text().c_str());
      return;
    }
    gap = gap_percent(*plan);
    nodes = static_cast<double>(plan->nodes);
  }
  state.counters["gap_percent"] = gap;
  state.counters["nodes"] = nodes;
}

void first_plan(benchmark::State& state) {
  PlanOptions options;
  options.planner = Planner::kBestFit;
  plan_again_and_again(state, long_problem(static_cast<uint64_t>(state.range(0)), static_cast<int32_t>(state.range(1))),
                       options);
}
BENCHMARK(first_plan)->ArgsProduct({{1, 2}, {10'000, 100'000, 1'000'000}})->Unit(benchmark::kMillisecond);

void portfolio(benchmark::State& state) {
  plan_again_and_again(state, long_problem(static_cast<uint64_t>(state.range(0)), static_cast<int32_t>(state.range(1))),
                       PlanOptions{});
}
BENCHMARK(portfolio)->ArgsProduct({{1, 2}, {10'000, 100'000, 1'000'000}})->Iterations(1)->Unit(benchmark::kMillisecond);

void validator(benchmark::State& state) {
  const Problem problem = long_problem(static_cast<uint64_t>(state.range(0)), static_cast<int32_t>(state.range(1)));
  PlanOptions options;
  options.planner = Planner::kBestFit;
  const Expected<Plan> plan = plan_best(problem, options);
  for (auto _ : state) benchmark::DoNotOptimize(validate(problem, *plan).ok());
}
BENCHMARK(validator)->ArgsProduct({{1}, {10'000, 100'000, 1'000'000}})->Unit(benchmark::kMillisecond);

/// Ten seeds of planted problems, a second or so each at most.
void planted(benchmark::State& state) {
  int solved = 0;
  int proven = 0;
  for (auto _ : state) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      Planted problem =
          planted_problem(seed, static_cast<int32_t>(state.range(0)), static_cast<int32_t>(state.range(1)));
      problem.problem.spaces[0].capacity = problem.height;
      PlanOptions options;
      options.nodes = state.range(2);
      options.stop_at_capacity = true;
      const Expected<Plan> plan = plan_best(problem.problem, options);
      solved += plan.ok() ? 1 : 0;
      proven += plan.ok() && plan->optimal() ? 1 : 0;
    }
  }
  state.counters["of"] = 10;
  state.counters["solved"] = solved;
  state.counters["proven"] = proven;
}
BENCHMARK(planted)
    ->ArgsProduct({{40, 80, 160, 320}, {0, 1, 5}, {200'000}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::packing
