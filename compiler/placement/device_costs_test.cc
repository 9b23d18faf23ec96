#include "compiler/placement/device_costs.h"

#include <gtest/gtest.h>

#include <limits>

#include "compiler/placement/operator_work.h"
#include "compiler/placement/work_testing.h"
#include "compiler/targets/target.h"

namespace berth::placement {
namespace {

// "portable", "cuda", ….
std::vector<std::string> own_kinds() {
  std::vector<std::string> kinds;
  for (const std::string& name : targets::target_names({})) kinds.push_back(name.substr(0, name.find(':')));
  return kinds;
}

void expect_words(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

DeviceCosts costs_with(std::vector<RateAt> products, std::vector<RateAt> bytes) {
  DeviceCosts costs = *estimated_costs("cpu");
  costs.operator_seconds = 0.25;
  costs.rates[WorkKind::kProduct] = std::move(products);
  costs.rates[WorkKind::kElementwise] = std::move(bytes);
  return costs;
}

TEST(DeviceCosts, WorkTakesItsLaunchAndWhatIsSlowerOfArithmeticAndMemory) {
  const DeviceCosts costs = costs_with({{1, 100}}, {{1, 10}});
  EXPECT_DOUBLE_EQ(seconds_of(Work{WorkKind::kProduct, 500, 10}, costs), 0.25 + 5);
  EXPECT_DOUBLE_EQ(seconds_of(Work{WorkKind::kProduct, 500, 80}, costs), 0.25 + 8);
  EXPECT_DOUBLE_EQ(seconds_of(Work{WorkKind::kElementwise, 0, 80}, costs), 0.25 + 8);
  EXPECT_DOUBLE_EQ(seconds_of(CopyCosts{0.5, 10}, 20), 2.5);
}

TEST(DeviceCosts, EachTargetOfBerthsHasAnEstimate) {
  EXPECT_FALSE(own_kinds().empty());
  for (const std::string& kind : own_kinds()) EXPECT_NE(estimated_costs(kind), nullptr) << kind;
}

TEST(DeviceCosts, BetweenTwoSizesMoreWorkNeverTakesLess) {
  const DeviceCosts costs = costs_with({{100, 10}, {10000, 1000}, {1e6, 1000}}, {{1, 1e17}});
  const auto seconds = [&](double operations) { return seconds_of_work({WorkKind::kProduct, operations, 0}, costs); };
  EXPECT_DOUBLE_EQ(seconds(10), 1);
  EXPECT_DOUBLE_EQ(seconds(100), 10);
  EXPECT_DOUBLE_EQ(seconds(1000), 10);  // a rate of 100
  EXPECT_DOUBLE_EQ(seconds(10000), 10);
  EXPECT_DOUBLE_EQ(seconds(2e6), 2000);
  for (const std::string& kind : own_kinds()) {
    for (const WorkKind work : work_kinds()) {
      double before = 0;
      for (double size = 1e3; size < 1e11; size *= 1.3) {
        const double now = seconds_of_work({work, size, 0}, *estimated_costs(kind));
        EXPECT_GE(now, before) << kind << " " << to_string(work) << " " << size;
        before = now;
      }
    }
  }
}

TEST(DeviceCosts, FiguresThatCannotBeAreRefusedWithTheirPlace) {
  for (const std::string& kind : own_kinds()) EXPECT_TRUE(check_costs(*estimated_costs(kind)).ok());
  const auto refused = [](auto&& change) {
    DeviceCosts costs = *estimated_costs("cpu");
    change(costs);
    const Status status = check_costs(costs);
    return status.ok() ? "" : status.error().text();
  };
  expect_words(refused([](DeviceCosts& c) { c.call_seconds = -1; }), "costs of cpu: call");
  expect_words(refused([](DeviceCosts& c) { c.operator_seconds = std::numeric_limits<double>::quiet_NaN(); }),
               "costs of cpu: operator");
  expect_words(refused([](DeviceCosts& c) { c.to_device.bytes_per_second = 0; }), "from 1e-18");
  expect_words(refused([](DeviceCosts& c) { c.rates[WorkKind::kProduct][0].second = 5e-324; }), "from 1e-18");
  expect_words(refused([](DeviceCosts& c) { c.rates[WorkKind::kReduction].clear(); }), "reduction");
  expect_words(refused([](DeviceCosts& c) { c.rates[WorkKind::kProduct] = {{2, 1}, {2, 1}}; }), "rising");
  expect_words(refused([](DeviceCosts& c) { c.rates[WorkKind::kProduct] = {{1, 1e300}}; }), "below 1e18");
}

TEST(DeviceCosts, WhatNobodyMeasuredIsEstimatedAndStrangersAreNot) {
  DeviceCosts given = *estimated_costs("cuda");
  given.target = "cuda:1";
  given.measured = true;
  EXPECT_TRUE(costs_of("cuda:1", {given})->measured);
  EXPECT_FALSE(costs_of("cuda:0", {given})->measured);
  EXPECT_EQ(costs_of("cuda:0", {given})->target, "cuda:0");
  const auto stranger = costs_of("npu:0", {given});
  ASSERT_FALSE(stranger.ok());
  EXPECT_EQ(stranger.error().code, Error::kNotFound);
  expect_words(stranger.error().text(), "berth tune npu:0");
}

Work work(const std::string& inputs, const std::string& node) { return measured(inputs, node, work_at); }

TEST(OperatorWork, CountsOperationsOfProductsAndBytesOfTheRest) {
  const Work product = work("%a: f32[3,4], %b: f32[4,5]", "%y: f32[3,5] = aten::mm(%a, %b)");
  EXPECT_EQ(product.kind, WorkKind::kProduct);
  EXPECT_EQ(product.operations, 2 * 3 * 4 * 5);
  EXPECT_EQ(product.bytes, 4 * (12 + 20 + 15));
  EXPECT_EQ(work("%a: f32[5], %b: f32[3,4], %c: f32[4,5]", "%y: f32[3,5] = aten::addmm(%a, %b, %c, 1, 1)").operations,
            2 * 3 * 4 * 5);
  const Work relu = work("%x: f32[10]", "%y: f32[10] = aten::relu(%x)");
  EXPECT_EQ(relu.kind, WorkKind::kElementwise);
  EXPECT_EQ(relu.operations, 0);
  EXPECT_EQ(relu.bytes, 80);
  EXPECT_EQ(work("%x: f32[2,5]", "%y: f32[2,5] = aten::_softmax(%x, 1, false)").kind, WorkKind::kReduction);
  EXPECT_EQ(work("%x: f32[10]", "%y: f32[2,5] = aten::view_copy(%x, [2, 5])").bytes, 0);
}

TEST(OperatorWork, OfATableThePickedRowsAreRead) {
  EXPECT_EQ(work("%t: f32[1000,4], %i: i64[2]", "%y: f32[2,4] = aten::embedding(%t, %i)").bytes, 32 + 16 + 32);
  EXPECT_EQ(work("%t: f32[1,4], %i: i64[2]", "%y: f32[2,4] = aten::index.Tensor(%t, [%i])").bytes, 16 + 16 + 32);
}

TEST(OperatorWork, TellsConvolutionsApart) {
  const auto conv = [](const char* weight, const char* result, const char* transposed, int groups) {
    return work(std::string("%x: f32[1,8,10,10], %w: ") + weight,
                std::string("%y: ") + result + " = aten::convolution(%x, %w, none, [1, 1], [1, 1], [1, 1], " +
                    transposed + ", [0, 0], " + std::to_string(groups) + ")");
  };
  const Work dense = conv("f32[16,8,3,3]", "f32[1,16,10,10]", "false", 1);
  EXPECT_EQ(dense.kind, WorkKind::kConvolution);
  EXPECT_EQ(dense.operations, 2 * 16 * 100 * 8 * 9);
  const Work depthwise = conv("f32[8,1,3,3]", "f32[1,8,10,10]", "false", 8);
  EXPECT_EQ(depthwise.kind, WorkKind::kDepthwise);
  EXPECT_EQ(depthwise.operations, 2 * 8 * 100 * 9);
  EXPECT_EQ(conv("f32[16,4,3,3]", "f32[1,16,10,10]", "false", 2).kind, WorkKind::kConvolution);
  EXPECT_EQ(conv("f32[8,16,3,3]", "f32[1,16,10,10]", "true", 1).operations, 2 * 800 * 16 * 9);
}

}  // namespace
}  // namespace berth::placement
