#include "compiler/targets/target.h"

#include <gtest/gtest.h>

#include "compiler/ir/parse.h"

namespace berth::targets {
namespace {

TEST(Target, TargetsAreParsedInOrderOfPreference) {
  const auto targets = parse_targets("cuda:1,SIM,cpu,portable");
  ASSERT_TRUE(targets.ok()) << targets.error().text();
  ASSERT_EQ(targets->size(), 4u);
  EXPECT_EQ((*targets)[0].name, "cuda:1");
  EXPECT_EQ((*targets)[0].backend, "berth.cuda");
  EXPECT_EQ((*targets)[0].device, Device(DeviceType::kCuda, 1));
  EXPECT_EQ((*targets)[1].name, "sim:0");
  EXPECT_EQ((*targets)[1].backend, "berth.sim");
  EXPECT_EQ((*targets)[2].name, "cpu");
  EXPECT_EQ((*targets)[2].backend, "berth.cpu");
  EXPECT_TRUE((*targets)[3].is_portable());
}

TEST(Target, TargetsAreParsedStrictly) {
  const auto error = [](const char* list) {
    const auto targets = parse_targets(list);
    return targets.ok() ? std::string() : targets.error().text();
  };
  EXPECT_EQ(error("tpu:0"), "target \"tpu:0\": expected one of portable, cpu, cuda:N, sim:N");
  for (const char* bad : {"", "cpu,", ",cpu", "cuda:-1", "cuda:300", "cpu:1", "cuda: 0", "portable:0", "cpu cuda"}) {
    EXPECT_NE(error(bad), "") << bad;
  }
  EXPECT_EQ(error("cuda,cpu,CUDA:0"), "target \"cuda:0\": stands twice in the list");
}

Support support(const std::string& target, const std::string& text) {
  auto module = ir::parse(text, "t");
  EXPECT_TRUE(module.ok()) << module.error().text();
  auto targets = parse_targets(target);
  if (!module.ok() || !targets.ok()) return Support::kOperator;
  const ir::Method& method = module->methods[0];
  return supports((*targets)[0], *module, method, ir::count_uses(method), ir::NodeId{0})->support;
}

TEST(Target, EveryTargetHasItsOperators) {
  EXPECT_EQ(support("sim:0", R"(
    method f(%x: f32[2]) {
      %y: f32[2] = aten::relu(%x)
      return %y
    })"),
            Support::kSupported);
  EXPECT_EQ(support("sim:0", R"(
    symbol s in [0, 2]
    method f(%x: f32[2]) {
      %y: i64[s,1] = aten::nonzero(%x)
      return %y
    })"),
            Support::kDataDependentSize);
  EXPECT_EQ(support("cpu", R"(
    method f() {
      %y: f32[2] = aten::rand([2])
      return %y
    })"),
            Support::kRandom);
  EXPECT_EQ(support("sim:0", R"(
    state @k: f32[2]
    method f() {
      %y: f32[2] = berth::state_read() @k
      return %y
    })"),
            Support::kState);
  EXPECT_EQ(support("sim:0", R"(
    method f(%x: f32[2]) {
      %y: f32[2]@sim:0 = et_copy::_h2d_copy(%x)
      return %y
    })"),
            Support::kCopy);
  EXPECT_EQ(support("sim:0", R"(
    method f(%c: bool, %x: f32[2]) {
      %y: f32[2] = berth::if(%c) {
        ()
        yield %x
      } {
        ()
        yield %x
      }
      return %y
    })"),
            Support::kControlFlow);
  // A symbol that an input has is not a surprise.
  EXPECT_EQ(support("sim:0", R"(
    symbol n in [1, 4]
    method f(%x: f32[n,6]) {
      %y: f32[(n * 2),3] = aten::view_copy(%x, [(n * 2), 3])
      return %y
    })"),
            Support::kSupported);
}

TEST(Target, CudaHasItsOperators) {
  EXPECT_EQ(support("cuda:0", R"(
    method f(%x: f32[2]) {
      %y: f32[2] = aten::relu(%x)
      return %y
    })"),
            Support::kSupported);
  EXPECT_EQ(support("cuda:0", R"(
    method f(%x: i64[2]) {
      %y: i64[2] = aten::relu(%x)
      return %y
    })"),
            Support::kSupported);
  EXPECT_EQ(support("cuda:0", R"(
    method f(%x: c64[2]) {
      %y: c64[2] = aten::neg(%x)
      return %y
    })"),
            Support::kDType);
  EXPECT_EQ(support("cuda:0", R"(
    method f(%x: f32[4], %i: i64[2], %v: f32[2]) {
      %y: f32[4] = aten::index_put(%x, [%i], %v, false)
      return %y
    })"),
            Support::kOperator);
}

}  // namespace
}  // namespace berth::targets
