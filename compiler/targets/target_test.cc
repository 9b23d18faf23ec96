#include "compiler/targets/target.h"

#include <gtest/gtest.h>

#include "compiler/ir/parse.h"

namespace berth::targets {
namespace {

TEST(Targets, AreReadInOrderOfPreference) {
  const auto targets = parse_targets("cuda:1,SIM,cpu,portable");
  ASSERT_TRUE(targets.ok()) << targets.error().text();
  ASSERT_EQ(targets->size(), 4u);
  EXPECT_EQ((*targets)[0].name, "cuda:1");
  EXPECT_EQ((*targets)[0].backend, "berth.cuda");
  EXPECT_EQ((*targets)[0].device, Device(DeviceType::kCuda, 1));
  EXPECT_EQ((*targets)[0].alignment, 256u);
  EXPECT_EQ((*targets)[1].name, "sim:0");
  EXPECT_EQ((*targets)[1].backend, "berth.sim");
  EXPECT_EQ((*targets)[2].name, "cpu");
  EXPECT_EQ((*targets)[2].backend, "berth.cpu");
  EXPECT_EQ((*targets)[2].alignment, 64u);
  EXPECT_TRUE((*targets)[3].is_portable());
}

TEST(Targets, AreReadStrictly) {
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

Answer answer(const std::string& target, const std::string& text) {
  auto module = ir::parse(text, "t");
  EXPECT_TRUE(module.ok()) << module.error().text();
  auto targets = parse_targets(target);
  if (!module.ok() || !targets.ok()) return Answer::kOperator;
  return ask((*targets)[0], *module, module->methods[0], module->methods[0].nodes[0]);
}

TEST(Answers, OfEveryTarget) {
  EXPECT_EQ(answer("sim:0", "method f(%x: f32[2]) {\n  %y: f32[2] = aten::relu(%x)\n  return %y\n}\n"), Answer::kTakes);
  EXPECT_EQ(answer("sim:0",
                   "symbol s in [0, 2]\nmethod f(%x: f32[2]) {\n  %y: i64[s,1] = aten::nonzero(%x)\n  return %y\n}\n"),
            Answer::kDataDependentSize);
  EXPECT_EQ(answer("cpu", "method f() {\n  %y: f32[2] = aten::rand([2])\n  return %y\n}\n"), Answer::kRandom);
  EXPECT_EQ(answer("sim:0", "state @k: f32[2]\nmethod f() {\n  %y: f32[2] = berth::state_read() @k\n  return %y\n}\n"),
            Answer::kState);
  EXPECT_EQ(answer("sim:0", "method f(%x: f32[2]) {\n  %y: f32[2]@sim:0 = et_copy::_h2d_copy(%x)\n  return %y\n}\n"),
            Answer::kCopy);
  EXPECT_EQ(answer("sim:0",
                   "method f(%c: bool, %x: f32[2]) {\n  %y: f32[2] = berth::if(%c) {\n    ()\n    yield %x\n  } {\n"
                   "    ()\n    yield %x\n  }\n  return %y\n}\n"),
            Answer::kControlFlow);
  // A symbol that an input has is no surprise.
  EXPECT_EQ(
      answer("sim:0",
             "symbol n in [1, 4]\nmethod f(%x: f32[n,6]) {\n  %y: f32[(n * 2),3] = aten::view_copy(%x, [(n * 2), 3])\n"
             "  return %y\n}\n"),
      Answer::kTakes);
}

TEST(Answers, OfCuda) {
  EXPECT_EQ(answer("cuda:0", "method f(%x: f32[2]) {\n  %y: f32[2] = aten::relu(%x)\n  return %y\n}\n"),
            Answer::kTakes);
  EXPECT_EQ(answer("cuda:0", "method f(%x: i64[2]) {\n  %y: i64[2] = aten::relu(%x)\n  return %y\n}\n"),
            Answer::kTakes);
  EXPECT_EQ(answer("cuda:0", "method f(%x: c64[2]) {\n  %y: c64[2] = aten::neg(%x)\n  return %y\n}\n"), Answer::kDType);
  EXPECT_EQ(answer("cuda:0",
                   "method f(%x: f32[4], %i: i64[2], %v: f32[2]) {\n"
                   "  %y: f32[4] = aten::index_put(%x, [%i], %v, false)\n  return %y\n}\n"),
            Answer::kOperator);
}

}  // namespace
}  // namespace berth::targets
