// What is said of every order is held against every order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "compiler/emit/order_method.h"
#include "compiler/emit/random_module.h"
#include "compiler/emit/test_support.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "compiler/plan/plan.h"

namespace berth::emit {
namespace {

using ir::OpId;
using ir::ValueId;

/// Few nodes, most of them joining, cutting or in place: 16 bytes a row.
class SmallModule {
 public:
  explicit SmallModule(std::mt19937& random) : random_(random) {}

  ir::Module make(int nodes) {
    ir::Module module;
    ir::Method method;
    method.name = "forward";
    ir::Builder build(module, method, method.body);
    pool_ = {method.add_input(rows(4 + below(6)), "x"), method.add_input(rows(4 + below(6)), "y")};
    const bool state = below(3) == 0;
    if (state) {
      module.states.push_back({"s", rows(4), {}});
      pool_.push_back(testing::read_state(method, 0, rows(4)));
    }
    for (int tries = 0; tries < 100 && static_cast<int>(method.body.nodes.size()) < nodes; ++tries) add_node(build);
    if (state) add_state_write(method);
    method.body.outputs.push_back(pool_.back());
    if (below(3) == 0) method.body.outputs.push_back(any());
    module.methods.push_back(std::move(method));
    return module;
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  /// The youngest most often.
  ValueId any() {
    const size_t back = std::min<size_t>(pool_.size() - 1, below(2) * below(6));
    return pool_[pool_.size() - 1 - back];
  }

  static ir::TensorType rows(int64_t count) {
    ir::TensorType type;
    type.shape = {ir::Dim(count), ir::Dim(4)};
    return type;
  }

  void keep(const Expected<std::vector<ValueId>>& results) {
    if (results.ok()) pool_.insert(pool_.end(), results->begin(), results->end());
  }

  void add_node(ir::Builder& build) {
    const ValueId x = any();
    const ir::TensorType type = build.method().tensor(x);
    const int64_t size = type.shape.empty() ? 1 : type.shape[0].value;
    switch (below(11)) {
      case 0: keep(build.create(OpId::relu_out, {x}, "relu")); break;
      case 1: keep(build.create(OpId::flip_out, {x, ir::dims({0})}, "flip")); break;
      case 2:
      case 3: keep(build.create(OpId::add_out, {x, any()}, "add")); break;
      case 4:
      case 5: keep(build.create(OpId::cat_out, {ir::ValueList{x, any()}, ir::Dim(0)}, "cat")); break;
      case 6:
      case 7:
        if (size > 1) {
          keep(build.create(OpId::split_copy_Tensor_out, {x, ir::Dim((size + 1) / 2), ir::Dim(0)}, "split"));
        }
        break;
      case 8:
        if (size > 2) {
          const auto first = static_cast<int64_t>(below(2));
          keep(build.create(OpId::slice_copy_Tensor_out, {x, ir::Dim(0), ir::Dim(first), ir::Dim(first + 2)}, "slice"));
        }
        break;
      case 9: keep(build.create(OpId::view_copy_out, {x, ir::dims({-1, 4})}, "view")); break;
      default: keep(build.create(OpId::cumsum_out, {x, ir::Dim(0)}, "cumsum")); break;
    }
  }

  void add_state_write(ir::Method& method) {
    for (size_t i = pool_.size(); i-- > 0;) {
      if (method.tensor(pool_[i]) != rows(4)) continue;
      return testing::write_state(method, 0, pool_[i]);
    }
  }

  std::mt19937& random_;
  std::vector<ValueId> pool_;
};

/// Calls `visit` with orders of the tasks that respect the problem, `limit` at most.
void for_each_order(const order::Problem& problem, int limit,
                    const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<std::vector<int>> before(static_cast<size_t>(problem.tasks));
  for (const order::Edge& edge : problem.edges) before[static_cast<size_t>(edge.after)].push_back(edge.before);
  for (const order::Buffer& buffer : problem.buffers) {
    for (const int32_t reader : buffer.readers) {
      if (buffer.producer >= 0) before[static_cast<size_t>(reader)].push_back(buffer.producer);
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
      const auto has_run = [&](int other) { return done[static_cast<size_t>(other)]; };
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
  auto first = find_lifetimes(module, given);
  EXPECT_TRUE(first.ok()) << first.error().text();
  for_each_order(order_problem(module, given, *first), 60, [&](const std::vector<int>& order) {
    ir::Method method = given;
    for (size_t i = 0; i < order.size(); ++i) {
      method.body.nodes[i] = given.body.nodes[static_cast<size_t>(order[i])];
    }
    auto lifetimes = find_lifetimes(module, method);
    ASSERT_TRUE(lifetimes.ok()) << lifetimes.error().text();
    auto plan = plan::plan_best(lifetimes->problem, plan::PlanOptions{});
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    int64_t bytes = 0;
    for (const plan::SpaceUse& use : plan->spaces) bytes += use.height;
    ++lowest.orders;
    lowest.bytes = std::min(lowest.bytes, bytes);
    if (!is_lowest_of_all_orders(module, method, *lifetimes, *plan)) return;
    lowest.claimed = std::min(lowest.claimed, bytes);
    lowest.highest_claimed = std::max(lowest.highest_claimed, bytes);
  });
  return lowest;
}

TEST(WhatIsSaidOfEveryOrder, IsTrueOfEveryOrderOfSmallMethods) {
  const char* given = std::getenv("BERTH_SEED");
  const char* rounds = std::getenv("BERTH_ROUNDS");
  const unsigned seed =
      given == nullptr ? std::random_device{}() : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
  const int count = rounds == nullptr ? 40 : std::atoi(rounds);
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  int claimed = 0;
  int of_several = 0;
  for (int round = 0; round < count; ++round) {
    std::mt19937 random(seed + static_cast<unsigned>(round));
    ir::Module module = SmallModule(random).make(4 + round % 5);
    ASSERT_TRUE(ir::verify(module).ok()) << ir::print(module);
    const Lowest lowest = try_all_orders(module);
    ASSERT_FALSE(HasFatalFailure());
    if (lowest.claimed != INT64_MAX) {
      ASSERT_EQ(lowest.highest_claimed, lowest.bytes) << "BERTH_SEED=" << seed + static_cast<unsigned>(round) << "\n"
                                                      << ir::print(module);
      ++claimed;
      of_several += lowest.orders > 1 ? 1 : 0;
    }
  }
  std::printf("%d of %d proven\n", claimed, count);
  EXPECT_GT(claimed, count / 4);
  EXPECT_GT(of_several, count / 8);
}

}  // namespace
}  // namespace berth::emit
