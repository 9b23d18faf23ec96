#include "compiler/memory/schedule_problem.h"

#include <gtest/gtest.h>

#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"
#include "compiler/memory/make_model.h"
#include "compiler/memory/scheduling/schedule.h"

namespace berth::memory {
namespace {

namespace testing = emit::testing;
using emit::EmittedProgram;
using packing::Planner;

struct Ordered {
  ir::Module module;
  std::vector<std::string> given;
  std::vector<std::string> better;
  int64_t given_peak = 0;
  int64_t peak = 0;
};

std::vector<std::string> names(const ir::Method& method, const std::vector<ir::NodeId>& nodes) {
  std::vector<std::string> out;
  for (const ir::NodeId id : nodes) {
    const ir::Node& node = method.node(id);
    out.push_back(node.results.empty() ? std::string(node.op->name) : method.value(node.results[0]).name);
  }
  return out;
}

Ordered order_of(const std::string& text) {
  Ordered out;
  out.module = testing::module_of(text);
  const ir::Method& method = out.module.methods[0];
  auto model = make_model(out.module, method);
  EXPECT_TRUE(model.ok()) << model.error().text();
  const scheduling::Problem problem = schedule_problem(out.module, method, *model, InPlaceSet());
  const auto order = scheduling::best_schedule(problem);
  EXPECT_TRUE(order.ok()) << order.error().text();
  std::vector<ir::NodeId> nodes;
  for (const int32_t task : order->tasks) nodes.push_back(method.body.nodes[task]);
  out.given = names(method, method.body.nodes);
  out.better = names(method, nodes);
  out.given_peak = order->given_peak;
  out.peak = order->peak;
  return out;
}

size_t place(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) - names.begin();
}

TEST(ScheduleProblem, OneBranchRunsAfterTheOther) {
  const Ordered ordered = order_of(testing::kTwoBranches);
  EXPECT_EQ(ordered.given_peak, 16 + 2 * 1600);
  EXPECT_EQ(ordered.peak, 16 + 1600 + 4);
  EXPECT_LT(std::min(place(ordered.better, "c"), place(ordered.better, "d")),
            std::max(place(ordered.better, "a"), place(ordered.better, "b")));
}

TEST(ScheduleProblem, AViewIsReadAfterItIsMade) {
  // The view has no bytes: without an edge of its own, it could come after its reader.
  const Ordered ordered = order_of(R"(
method forward(%x: f32[4]) {
  %a: f32[400] = aten::repeat(%x, [100])
  %b: f32[400] = aten::repeat(%x, [100])
  %v: f32[20,20] = aten::view_copy(%a, [20, 20])
  %w: f32[20,20] = aten::view_copy(%b, [20, 20])
  %c: f32[1,20] = aten::sum.dim_IntList(%v, [0], true, none)
  %d: f32[1,20] = aten::sum.dim_IntList(%w, [0], true, none)
  %e: f32[1,20] = aten::mul.Tensor(%c, %d)
  return %e
})");
  EXPECT_LT(ordered.peak, ordered.given_peak);
  EXPECT_LT(place(ordered.better, "v"), place(ordered.better, "c"));
  EXPECT_LT(place(ordered.better, "w"), place(ordered.better, "d"));
  EXPECT_LT(place(ordered.better, "a"), place(ordered.better, "v"));
}

TEST(ScheduleProblem, StateKeepsItsOrder) {
  const Ordered ordered = order_of(R"(
state @s: f32[4]
method forward(%x: f32[4]) {
  %s: f32[4] = berth::state_read() @s
  %a: f32[400] = aten::repeat(%s, [100])
  %b: f32[400] = aten::repeat(%x, [100])
  %c: f32[1] = aten::sum.dim_IntList(%a, [0], true, none)
  %d: f32[1] = aten::sum.dim_IntList(%b, [0], true, none)
  %e: f32[4] = aten::mul.Tensor(%x, %c)
  berth::state_write(%e) @s
  return %d
})");
  EXPECT_LT(ordered.peak, ordered.given_peak);
  EXPECT_LT(place(ordered.better, "s"), place(ordered.better, "berth::state_write"));
}

TEST(ScheduleProblem, NodesStayWhereNoOrderIsBetter) {
  const Ordered ordered = order_of(R"(
method forward(%x: f32[4]) {
  %a: f32[4] = aten::relu(%x)
  %b: f32[4] = aten::neg(%x)
  %c: f32[4] = aten::mul.Tensor(%a, %b)
  return %c
})");
  EXPECT_EQ(ordered.better, ordered.given);
}

using testing::kTwoBranches;

TEST(ScheduleProblem, AnEmittedMethodNeedsLessAndSaysSo) {
  MemoryOptions as_given;
  as_given.reorder = false;
  const EmittedProgram given = testing::program_of(kTwoBranches, as_given);
  const EmittedProgram better = testing::program_of(kTwoBranches, MemoryOptions{});
  EXPECT_EQ(given.saved_by_order, 0);
  EXPECT_EQ(given.arenas[0].bytes, 16u + 2 * 1600);
  EXPECT_LT(better.arenas[0].bytes, 16u + 1600 + 64);
  EXPECT_EQ(better.saved_by_order, static_cast<int64_t>(given.arenas[0].bytes - better.arenas[0].bytes));
}

TEST(ScheduleProblem, OnlyTheBestPlannerReorders) {
  for (const Planner planner : {Planner::kNaive, Planner::kGreedy}) {
    MemoryOptions options;
    options.planner = planner;
    EXPECT_EQ(testing::program_of(kTwoBranches, options).saved_by_order, 0);
  }
}

// Two delegates, or one that is called twice, of which the second first would need half of the bytes.
std::string two_calls(const std::string& backend, const std::string& second) {
  return filled(R"(
    delegate @a "$backend" = hex"01"
    delegate @b "$backend" = hex"02"
    method forward(%x: f32[4]) {
      %p: f32[400] = berth::delegate([%x]) @a
      %q: f32[400] = berth::delegate([%x]) @$second
      %s: f32[1] = aten::sum.dim_IntList(%q, [0], true, none)
      %t: f32[400] = aten::add.Tensor(%p, %s)
      %o: f32[1] = aten::sum.dim_IntList(%t, [0], true, none)
      return %o
    })",
                {{"backend", backend}, {"second", second}});
}

TEST(ScheduleProblem, DelegatesOfUnknownEffectsKeepTheirOrder) {
  for (const char* second : {"a", "b"}) {
    const Ordered ordered = order_of(two_calls("Chip", second));
    EXPECT_LT(place(ordered.better, "p"), place(ordered.better, "q")) << second;
    EXPECT_EQ(ordered.peak, ordered.given_peak);
  }
}

TEST(ScheduleProblem, NestedProgramsOfBerthMayMove) {
  const Ordered ordered = order_of(two_calls("berth.cpu", "b"));
  EXPECT_LT(place(ordered.better, "q"), place(ordered.better, "p"));
  EXPECT_LT(ordered.peak, ordered.given_peak);
}

}  // namespace
}  // namespace berth::memory
