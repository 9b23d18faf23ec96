#include "compiler/passes/fold_constants.h"

#include <unistd.h>

#include <fstream>

#include "compiler/passes/testing.h"

namespace berth::passes {
namespace {

std::string reasons(const std::string& text, Options options = {}) {
  ir::Module module = parsed(text);
  std::vector<std::string> why;
  options.why = {"fold_constants"};
  options.why_lines = &why;
  const auto changed = fold_constants(module, options);
  EXPECT_TRUE(changed.ok());
  EXPECT_TRUE(ir::verify(module).ok());
  std::string all;
  for (const std::string& line : why) all += line + "\n";
  return all;
}

TEST(NodesOnConstants, AreComputed) {
  const std::string text =
      "const @w: f32[2,3] = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]>\nmethod f(%x: f32[4,3]) {\n"
      "  %w: f32[2,3] = const @w\n  %t: f32[3,2] = aten::permute_copy(%w, [1, 0])\n"
      "  %d: f32[3,2] = aten::mul.Scalar(%t, 2.0)\n  %y: f32[4,2] = aten::mm(%x, %d)\n  return %y\n}\n";
  EXPECT_EQ(after(fold_constants, text),
            "const @d: f32[3,2] = dense<[2, 8, 4, 10, 6, 12]>\n\nmethod f(%x: f32[4,3]) {\n"
            "  %d_1: f32[3,2] = const @d\n  %y: f32[4,2] = aten::mm(%x, %d_1)\n  return %y\n}\n");
  expect_keeps_outputs(fold_constants, text);
}

TEST(ShapeArithmetic, IsComputed) {
  const std::string text =
      "const @s: i64[4] = dense<[2, 3, 4, 5]>\nmethod f() {\n  %s: i64[4] = const @s\n"
      "  %a: i64[] = aten::select_copy.int(%s, 0, 2)\n  %b: i64[1] = aten::unsqueeze_copy(%a, 0)\n"
      "  %c: i64[2] = aten::cat([%b, %b])\n  %y: i64[] = aten::prod(%c, none)\n  return %y\n}\n";
  EXPECT_EQ(after(fold_constants, text),
            "const @y: i64[] = dense<[16]>\n\nmethod f() {\n  %y: i64[] = const @y\n  return %y\n}\n");
}

TEST(RandomNumbers, AreNotComputedBeforehand) {
  const std::string text = "method f() {\n  %a: f32[2] = aten::randn([2])\n  return %a\n}\n";
  EXPECT_EQ(after(fold_constants, text), as_printed(text));
}

TEST(QuantisedWeights, StaySmall) {
  const std::string text =
      "const @w: i8[2,3] = dense<[1, 2, 3, 4, 5, 6]>\nmethod f(%x: f32[2,2]) {\n  %w: i8[2,3] = const @w\n"
      "  %d: f32[2,3] = quantized_decomposed::dequantize_per_tensor(%w, 0.5, 1, -128, 127, i8, none)\n"
      "  %y: f32[2,3] = aten::mm(%x, %d)\n  return %y\n}\n";
  EXPECT_EQ(after(fold_constants, text), as_printed(text));
}

TEST(OneRepeatedValue, StaysOneValue) {
  // 4 MB each, if they were written out.
  const std::string text =
      "const @w: f32[1024,1024] = splat<3.0>\nmethod f(%x: f32[1,1024]) {\n  %w: f32[1024,1024] = const @w\n"
      "  %t: f32[1024,1024] = aten::permute_copy(%w, [1, 0])\n  %e: f32[1024,1024] = aten::exp(%t)\n"
      "  %s: f32[1024,1024] = aten::add.Tensor(%t, %w)\n  %m: f32[1024,1024] = aten::mul.Tensor(%s, %e)\n"
      "  return %s, %m\n}\n";
  const std::string now = after(fold_constants, text);
  EXPECT_NE(now.find("const @s: f32[1024,1024] = splat<6>"), std::string::npos) << now.substr(0, 300);
  EXPECT_NE(now.find("= splat<120.51322>"), std::string::npos) << now.substr(0, 300);  // 6 * e^3
}

TEST(AViewOfAConstant, SharesItsBytes) {
  const std::string path = testing::TempDir() + "berth_fold_" + std::to_string(::getpid());
  std::ofstream(path) << std::string(4096, 'a');
  auto module =
      ir::parse("const @w: u8[4096] = file(\"" + path +
                    "\", 0, 4096)\nmethod f() {\n"
                    "  %w: u8[4096] = const @w\n  %v: u8[64,64] = aten::view_copy(%w, [64, 64])\n  return %v\n}\n",
                "t", testing::TempDir());
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_TRUE(fold_constants(*module, Options()).ok());
  ASSERT_EQ(module->constants.size(), 1u);
  EXPECT_TRUE(module->constants[0].blob.is_mapped());
  EXPECT_TRUE(ir::verify(*module).ok());
  ::unlink(path.c_str());
}

TEST(LargeResults, AreNotFolded) {
  EXPECT_NE(reasons("const @w: f32[1,1024] = splat<3.0>\nmethod f() {\n  %w: f32[1,1024] = const @w\n"
                    "  %e: f32[1024,1024] = aten::expand_copy(%w, [1024, 1024])\n  return %e\n}\n")
                .find("keep: larger than its inputs and over 1 MB"),
            std::string::npos);
  EXPECT_NE(reasons("method f() {\n  %e: f32[1024,1024] = aten::full([1024, 1024], 1.0)\n  return %e\n}\n")
                .find("keep: larger than its inputs and over 1 MB"),
            std::string::npos);
  // One element less than the limit is folded.
  EXPECT_NE(reasons("method f() {\n  %e: f32[262144] = aten::full([262144], 1.0)\n  return %e\n}\n").find(": folded"),
            std::string::npos);
}

TEST(AllResultsTogether, StayWithinTheLimit) {
  Options options;
  options.fold_limit = 20;
  const std::string why = reasons(
      "const @w: f32[4] = dense<[1.0, 2.0, 3.0, 4.0]>\nmethod f() {\n  %w: f32[4] = const @w\n"
      "  %a: f32[4] = aten::neg(%w)\n  %b: f32[4] = aten::exp(%w)\n  return %a, %b\n}\n",
      options);
  EXPECT_NE(why.find("aten::neg (%a): folded"), std::string::npos) << why;
  EXPECT_NE(why.find("aten::exp (%b): keep: all folded constants would take more than the limit, 20 bytes"),
            std::string::npos)
      << why;
}

TEST(WhatCannotBeComputedNow, IsLeftForLater) {
  // An index out of range is an error of the run, not of the compiler.
  const std::string text =
      "const @w: f32[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>\nconst @i: i64[1] = dense<[7]>\nmethod f() {\n"
      "  %w: f32[2,2] = const @w\n  %i: i64[1] = const @i\n  %y: f32[1,2] = aten::embedding(%w, %i)\n  return %y\n}\n";
  EXPECT_NE(reasons(text).find("keep: kernel-failed"), std::string::npos);
  EXPECT_EQ(after(fold_constants, text), as_printed(text));
}

TEST(SizesThatDependOnContents, AreNotFolded) {
  EXPECT_NE(reasons("symbol k in [0, 3]\nconst @w: i64[3] = dense<[0, 1, 1]>\nmethod f() {\n  %w: i64[3] = const @w\n"
                    "  %y: i64[k,1] = aten::nonzero(%w)\n  return %y\n}\n")
                .find("keep: size-unknown"),
            std::string::npos);
}

TEST(StatesAndInputs, AreNotConstants) {
  const std::string text =
      "state @s: f32[2]\nmethod f(%x: f32[2]) {\n  %a: f32[2] = berth::state_read() @s\n"
      "  %b: f32[2] = aten::add.Tensor(%a, %x)\n  return %b\n}\n";
  EXPECT_EQ(after(fold_constants, text), as_printed(text));
}

}  // namespace
}  // namespace berth::passes
