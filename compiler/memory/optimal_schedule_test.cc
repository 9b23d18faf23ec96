// What is said of every order is held against every order.
#include "compiler/memory/optimal_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "base/seeds_testing.h"
#include "compiler/emit/emit_testing.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/print.h"
#include "compiler/ir/random_steps_testing.h"
#include "compiler/ir/verify.h"
#include "compiler/memory/make_model.h"
#include "compiler/memory/packing/plan_best.h"
#include "compiler/memory/schedule_problem.h"

namespace berth::memory {
namespace {

/// Calls `visit` with orders of the tasks that respect the problem, `limit` at most.
void for_each_order(const scheduling::Problem& problem, int limit,
                    const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<std::vector<int>> before(problem.tasks);
  for (const scheduling::Edge& edge : problem.edges) before[edge.after].push_back(edge.before);
  for (const scheduling::Buffer& buffer : problem.buffers) {
    for (const int32_t reader : buffer.readers) {
      if (buffer.producer >= 0) before[reader].push_back(buffer.producer);
    }
  }
  std::vector<int> order;
  std::vector<bool> done(before.size(), false);
  const std::function<void()> grow = [&] {
    if (limit <= 0) return;
    if (order.size() == before.size()) {
      --limit;
      return visit(order);
    }
    for (size_t t = 0; t < before.size(); ++t) {
      const auto has_run = [&](int other) { return done[other]; };
      if (done[t] || !std::all_of(before[t].begin(), before[t].end(), has_run)) continue;
      done[t] = true;
      order.push_back(static_cast<int>(t));
      grow();
      order.pop_back();
      done[t] = false;
    }
  };
  grow();
}

struct Lowest {
  int64_t bytes = INT64_MAX;    // of all orders
  int64_t claimed = INT64_MAX;  // of those of which it is said that no order is lower
  int64_t highest_claimed = 0;
  int orders = 0;
};

Lowest try_all_orders(const ir::Module& module) {
  Lowest lowest;
  const ir::Method& given = module.methods[0];
  auto first = make_model(module, given);
  EXPECT_TRUE(first.ok()) << first.error().text();
  for_each_order(schedule_problem(module, given, *first, InPlaceSet()), 60, [&](const std::vector<int>& order) {
    ir::Method method = given;
    for (size_t i = 0; i < order.size(); ++i) {
      method.body.nodes[i] = given.body.nodes[order[i]];
    }
    auto model = make_model(module, method);
    ASSERT_TRUE(model.ok()) << model.error().text();
    auto plan = packing::plan_best(packing_problem(*model), packing::PlanOptions{});
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    int64_t bytes = 0;
    for (const packing::SpaceUse& use : plan->spaces) bytes += use.height;
    ++lowest.orders;
    lowest.bytes = std::min(lowest.bytes, bytes);
    if (!is_lowest_of_all_orders(module, method, *model, InPlaceSet(), *plan)) return;
    lowest.claimed = std::min(lowest.claimed, bytes);
    lowest.highest_claimed = std::max(lowest.highest_claimed, bytes);
  });
  return lowest;
}

TEST(OptimalSchedule, TheLowerBoundHoldsForEveryOrderOfSmallMethods) {
  const char* rounds = std::getenv("BERTH_ROUNDS");
  const unsigned seed = berth::testing::new_seed();
  const int count = rounds == nullptr ? 40 : std::atoi(rounds);
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  int claimed = 0;
  int of_several = 0;
  for (int round = 0; round < count; ++round) {
    const unsigned own = seed + static_cast<unsigned>(round);
    const unsigned nodes = 4 + static_cast<unsigned>(round) % 5;
    ir::Module module = ir::testing::RandomModule(own, ir::testing::small_module(own, nodes)).make();
    ASSERT_TRUE(ir::verify(module).ok()) << ir::print(module);
    const Lowest lowest = try_all_orders(module);
    ASSERT_FALSE(HasFatalFailure());
    if (lowest.claimed != INT64_MAX) {
      ASSERT_EQ(lowest.highest_claimed, lowest.bytes) << "BERTH_SEED=" << own << "\n" << ir::print(module);
      ++claimed;
      of_several += lowest.orders > 1 ? 1 : 0;
    }
  }
  std::printf("%d of %d proven\n", claimed, count);
  EXPECT_GT(claimed, count / 4);
  EXPECT_GT(of_several, count / 8);
}

}  // namespace
}  // namespace berth::memory
