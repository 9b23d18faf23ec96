// The fears: work that is counted twice or at another operator; a roof that nothing stands under; a trace that no
// viewer reads.
#include "tools/profile.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "kernels/portable/kernel_testing.h"

namespace berth::tool {
namespace {

using berth::testing::Arg;
using berth::testing::f32;

OperatorCost cost_of(const char* name, std::vector<Arg> args) {
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  return operator_cost(name, {values.data(), values.size()});
}

using Ints = std::vector<int64_t>;

TEST(Profile, CountsConvolutionsByTheirWeights) {
  // Each of 4 x 8 x 8 results is a sum over 3 x 3 x 3 products.
  const OperatorCost plain =
      cost_of("aten::convolution.out", {f32({1, 3, 8, 8}), f32({4, 3, 3, 3}), nullptr, Ints{1, 1}, Ints{1, 1},
                                        Ints{1, 1}, false, Ints{0, 0}, 1, f32({1, 4, 8, 8})});
  EXPECT_EQ(plain.flops, 2.0 * 256 * 27);
  EXPECT_EQ(plain.bytes, 4.0 * (192 + 108 + 256));
  // A packed weight has more elements than it means: its text says the sizes.
  const OperatorCost packed = cost_of(
      "berth::conv.out", {f32({1, 3, 8, 8}), f32({16 * 27}), nullptr, nullptr, Ints{1, 1}, Ints{1, 1}, Ints{1, 1},
                          false, Ints{0, 0}, 1, "relu", 0.0, 0.0, "mine 1 [4,3,3,3] blocks 16", f32({1, 4, 8, 8})});
  EXPECT_EQ(packed.flops, plain.flops);
}

TEST(Profile, CountsProductsByTheirInnerSize) {
  EXPECT_EQ(cost_of("aten::mm.out", {f32({2, 5}), f32({5, 3}), f32({2, 3})}).flops, 60);
  EXPECT_EQ(cost_of("aten::addmm.out", {f32({3}), f32({2, 5}), f32({5, 3}), 1, 1, f32({2, 3})}).flops, 60);
  EXPECT_EQ(cost_of("berth::linear.out",
                    {f32({1, 2, 5}), f32({5, 3}), nullptr, nullptr, "none", 0.0, 0.0, "", f32({1, 2, 3})})
                .flops,
            60);
}

TEST(Profile, CountsARepeatedTensorOnce) {
  const berth::testing::Array x = f32({8});
  EXPECT_EQ(cost_of("aten::add.out", {x, x, 1, x}).bytes, 32);
  EXPECT_EQ(cost_of("aten::add.out", {x, x, 1, x}).flops, 0);
  EXPECT_EQ(cost_of("executorch_prim::et_view.default", {x, Ints{8}, x}).bytes, 0);
}

// Of a table of embeddings a token reads a row.
TEST(Profile, CountsThePickedRowsOfATable) {
  const Arg ids(berth::testing::i64({2}));
  EXPECT_EQ(cost_of("aten::embedding.out", {f32({1000, 4}), ids, -1, false, false, f32({2, 4})}).bytes,
            4.0 * 8 + 8 * 2 + 4 * 8);
  EXPECT_EQ(cost_of("berth::weight_rows.out", {f32({4000}), ids, false, 0, "", "mine [4,1000]", f32({2, 4})}).bytes,
            4.0 * 8 + 8 * 2 + 4 * 8);
  // All of a small one, where rows are picked again and again.
  EXPECT_EQ(cost_of("aten::index_select.out", {f32({1, 4}), 0, ids, f32({2, 4})}).bytes, 4.0 * 4 + 8 * 2 + 4 * 8);
}

TEST(Profile, TheRooflineIsTheSlowerOfComputeAndMemory) {
  const Roofline roof = measure_roofline(nullptr);
  EXPECT_GT(roof.flops, 0);
  EXPECT_GT(roof.core_bytes, 0);
  EXPECT_GT(roof.memory_bytes, 0);
  EXPECT_DOUBLE_EQ(roof.seconds(roof.flops, 1), 1);
  EXPECT_DOUBLE_EQ(roof.seconds(1, 1e9), 1e9 / roof.memory_bytes);
}

// A delegate of two instructions on tensors of `device`, run twice.
void run_some(Profiler& profiler, Device device = Device()) {
  int32_t sizes[] = {4};
  const uint8_t order[] = {0};
  int64_t strides[1];
  float numbers[4] = {};
  Tensor x(DType::kF32, 1, sizes, order, strides, numbers, ShapeDynamism::kStatic, device);
  EValue in(&x), out(&x);
  EValue* args[] = {&in, &out};
  const InstructionEvent call = {"forward", 0, "berth.cpu", args, true};
  const InstructionEvent first = {"delegate", 0, "aten::relu.out", args, false};
  const InstructionEvent second = {"delegate", 1, "aten::relu.out", args, false};
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(profiler.before(call), Error::kOk);
    for (const InstructionEvent& inner : {first, second}) {
      EXPECT_EQ(profiler.before(inner), Error::kOk);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      profiler.after(inner, Error::kOk);
    }
    profiler.after(call, Error::kOk);
    profiler.end_of_run();
  }
}

TEST(Profile, ADelegatesOwnTimeExcludesWhatRunsInIt) {
  Profiler profiler(Roofline{1e9, 1e9, 1e9, 1e9, 1});
  const auto start = std::chrono::steady_clock::now();
  run_some(profiler);
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  const std::vector<ProfiledOperator> operators = profiler.operators();
  ASSERT_EQ(operators.size(), 2u);
  EXPECT_EQ(operators[0].name, "aten::relu.out");
  EXPECT_EQ(operators[0].calls, 4);
  EXPECT_GE(operators[0].seconds, 8e-3);
  EXPECT_EQ(operators[0].cost.bytes, 4 * 16);
  EXPECT_EQ(operators[1].name, "berth.cpu");
  // What is counted twice would be more than has passed, however long the process had to wait.
  EXPECT_LE(operators[0].seconds + operators[1].seconds, all.count());
  EXPECT_EQ(profiler.instructions().size(), 3u);
  EXPECT_EQ(profiler.json()["operators"][0]["calls"], 2.0);
}

// A GPU's kernels beside the host's roofline would be a number that looks right.
TEST(Profile, WhatADeviceComputesHasNoRoofline) {
  Profiler profiler(Roofline{1e9, 1e9, 1e9, 1e9, 1});
  run_some(profiler, Device(DeviceType::kCuda, 0));
  const Json json = profiler.json();
  EXPECT_TRUE(json["operators"][0]["roofline"].is_null());
  EXPECT_NE(profiler.text().find("what a device computes has no roofline here"), std::string::npos);
  Profiler host(Roofline{1e9, 1e9, 1e9, 1e9, 1});
  run_some(host);
  EXPECT_GT(host.json()["operators"][0]["roofline"].get<double>(), 0);
  EXPECT_EQ(host.text().find("what a device computes"), std::string::npos);
}

TEST(Profile, TheTraceHasTheFirstRunAsNestedEvents) {
  Profiler profiler(Roofline{1e9, 1e9, 1e9, 1e9, 1});
  run_some(profiler);
  const Json trace = profiler.trace();
  ASSERT_EQ(trace["traceEvents"].size(), 3u);
  const Json& call = trace["traceEvents"][2];
  EXPECT_EQ(call["name"], "berth.cpu");
  for (const Json& event : trace["traceEvents"]) {
    EXPECT_EQ(event["ph"], "X");
    EXPECT_GE(event["ts"].get<double>(), call["ts"].get<double>());
    EXPECT_LE(event["ts"].get<double>() + event["dur"].get<double>(),
              call["ts"].get<double>() + call["dur"].get<double>() + 1e-3);
  }
}

}  // namespace
}  // namespace berth::tool
