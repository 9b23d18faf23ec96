// The order in which devices work at the same time, of one method. The fears: bounds that an order beats, and a value
// whose bytes go to another node while a copy still reads them.
#include "compiler/memory/plan_overlap.h"

#include <gtest/gtest.h>

#include <map>

#include "compiler/memory/planned_testing.h"

namespace berth::memory {
namespace {

using scheduling::TaskTime;

// What the first device has made is copied to the second, and the first computes on from it meanwhile.
constexpr char kCopied[] = R"(
  method forward(%x: f32[1024]@sim:0, %k: bool[]) {
    %a: f32[1024]@sim:0 = aten::exp(%x)
    %b: f32[1024]@sim:1 = berth::_d2d_copy(%a)
    %e: f32[1024]@sim:0 = aten::exp(%a)
    %f: f32[1024]@sim:1 = aten::exp(%b)
    %g: f32[1024]@sim:0 = aten::exp(%e)
    return %f, %g
  })";

constexpr char kBranch[] = R"(
  method forward(%x: f32[1024]@sim:0, %k: bool[]) {
    %a: f32[1024]@sim:0 = aten::exp(%x)
    %b: f32[1024]@sim:1 = berth::_d2d_copy(%a)
    %e: f32[1024]@sim:0 = aten::exp(%a)
    %f: f32[1024]@sim:1 = aten::exp(%b)
    %r: f32[1024]@sim:0 = berth::if(%k) { ()
      %c: f32[1024]@sim:0 = aten::exp(%e)
      yield %c
    } { ()
      %d: f32[1024]@sim:0 = aten::tanh(%e)
      yield %d
    }
    %g: f32[1024]@sim:0 = aten::exp(%r)
    return %f, %g
  })";

TaskTime time_of(const ir::Method& method, const ir::Node& node) {
  static const std::map<std::string, TaskTime> kTimes = {
      {"a", {10, 1}}, {"b", {1000, 2, 1}}, {"e", {1000, 1}}, {"f", {10, 2}},
      {"r", {20}},    {"c", {20, 1}},      {"d", {20, 1}},   {"g", {10, 1}},
  };
  return kTimes.at(method.value(node.results[0]).name);
}

struct Overlapped {
  Overlapped(const std::string& text, int64_t percent) : named(text) {
    options.overlap.time = time_of;
    options.overlap.percent = percent;
    const IdVector<ir::NodeId, int64_t> scratch(method().nodes.size(), 0);
    auto least = plan_schedule(named.module, method(), options, scratch);
    EXPECT_TRUE(least.ok()) << least.error().text();
    if (!least.ok()) return;
    auto made = plan_overlap(named.module, method(), options, scratch, std::move(*least));
    EXPECT_TRUE(made.ok()) << made.error().text();
    if (made.ok()) plan = std::move(*made);
  }
  const ir::Method& method() const { return named.module.methods[0]; }
  int64_t last_step_of(const std::string& value) const {
    return plan.model.buffers.all[plan.model.aliases.homes[named.value(value)].buffer].upper - 1;
  }
  int64_t step_of(const std::string& value) const {
    return plan.model.steps.nodes[method().value(named.value(value)).node];
  }

  NamedModel named;
  MemoryOptions options;
  MethodPlan plan;
};

TEST(PlanOverlap, BoundsAreOfAllOrdersWhateverIsTaken) {
  const std::vector<int64_t> busy = {0, 1020, 1010};
  const Overlapped taken(kCopied, 500);
  ASSERT_TRUE(taken.plan.run_time.has_value());
  EXPECT_EQ(taken.plan.run_time->least_memory, 2020);
  EXPECT_EQ(taken.plan.run_time->timeline.nanoseconds, 1020);
  EXPECT_EQ(taken.plan.run_time->bounds.busy, busy);
  const Overlapped tight(kCopied, 0);
  ASSERT_TRUE(tight.plan.run_time.has_value());
  EXPECT_EQ(tight.plan.run_time->timeline.nanoseconds, 2020);
  EXPECT_EQ(tight.plan.run_time->bounds.busy, busy);
  EXPECT_EQ(tight.plan.run_time->bounds.least(), 1020);
}

TEST(PlanOverlap, NothingIsComputedIntoTheBytesThatACopyStillReads) {
  const Overlapped made(kCopied, 500);
  ASSERT_TRUE(made.plan.run_time.has_value());
  EXPECT_GT(made.last_step_of("a"), made.step_of("e"));
  EXPECT_EQ(made.plan.run_time->bytes, 4096);
}

TEST(PlanOverlap, WhatACopyReadsIsKeptThroughABranchOfItsDevice) {
  const Overlapped made(kBranch, 500);
  ASSERT_TRUE(made.plan.run_time.has_value());
  ASSERT_LT(made.plan.run_time->timeline.nanoseconds, made.plan.run_time->least_memory);
  EXPECT_GE(made.last_step_of("a"), made.step_of("c"));
  EXPECT_GE(made.last_step_of("a"), made.step_of("d"));
}

}  // namespace
}  // namespace berth::memory
