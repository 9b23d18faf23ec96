#include "compiler/passes/fold_constants.h"

#include <unistd.h>

#include <fstream>

#include "base/text_testing.h"
#include "compiler/passes/passes_testing.h"

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

TEST(FoldConstants, ComputesNodesOnConstants) {
  const std::string text = R"(
    const @w: f32[2,3] = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]>
    method f(%x: f32[4,3]) {
      %w: f32[2,3] = const @w
      %t: f32[3,2] = aten::permute_copy(%w, [1, 0])
      %d: f32[3,2] = aten::mul.Scalar(%t, 2.0)
      %y: f32[4,2] = aten::mm(%x, %d)
      return %y
    })";
  EXPECT_EQ(after(fold_constants, text), as_printed(R"(
    const @d: f32[3,2] = dense<[2, 8, 4, 10, 6, 12]>
    method f(%x: f32[4,3]) {
      %d_1: f32[3,2] = const @d
      %y: f32[4,2] = aten::mm(%x, %d_1)
      return %y
    })"));
  expect_keeps_outputs(fold_constants, text);
}

TEST(FoldConstants, ComputesShapeArithmetic) {
  const std::string text = R"(
    const @s: i64[4] = dense<[2, 3, 4, 5]>
    method f() {
      %s: i64[4] = const @s
      %a: i64[] = aten::select_copy.int(%s, 0, 2)
      %b: i64[1] = aten::unsqueeze_copy(%a, 0)
      %c: i64[2] = aten::cat([%b, %b])
      %y: i64[] = aten::prod(%c, none)
      return %y
    })";
  EXPECT_EQ(after(fold_constants, text), as_printed(R"(
    const @y: i64[] = dense<[16]>
    method f() {
      %y: i64[] = const @y
      return %y
    })"));
}

TEST(FoldConstants, LeavesRandomNumbers) {
  const std::string text = R"(
    method f() {
      %a: f32[2] = aten::randn([2])
      return %a
    })";
  EXPECT_EQ(after(fold_constants, text), as_printed(text));
}

TEST(FoldConstants, LeavesQuantisedWeightsSmall) {
  const std::string text = R"(
    const @w: i8[2,3] = dense<[1, 2, 3, 4, 5, 6]>
    method f(%x: f32[2,2]) {
      %w: i8[2,3] = const @w
      %d: f32[2,3] = quantized_decomposed::dequantize_per_tensor(%w, 0.5, 1, -128, 127, i8, none)
      %y: f32[2,3] = aten::mm(%x, %d)
      return %y
    })";
  EXPECT_EQ(after(fold_constants, text), as_printed(text));
}

TEST(FoldConstants, LeavesCastsOfBytesToPassesThatWantThem) {
  const std::string text = R"(
    const @q: i8[3] = dense<[1, -2, 3]>
    const @wide: i32[3] = dense<[1, -2, 3]>
    const @one: u8[] = dense<[7]>
    method f(%x: f32[3]) {
      %q: i8[3] = const @q
      %wide: i32[3] = const @wide
      %one: u8[] = const @one
      %a: f32[3] = dim_order_ops::_to_dim_order_copy(%q, false, none, f32)
      %b: f32[3] = dim_order_ops::_to_dim_order_copy(%wide, false, none, f32)
      %c: f32[] = dim_order_ops::_to_dim_order_copy(%one, false, none, f32)
      return %a, %b, %c
    })";
  Options keep;
  keep.keep_quantized = true;
  const auto lines = [](const std::string& all) { return std::count(all.begin(), all.end(), '\n'); };
  EXPECT_EQ(lines(reasons(text, keep)), 2);
  EXPECT_EQ(reasons(text, keep).find("(%a)"), std::string::npos);
  EXPECT_EQ(lines(reasons(text)), 3);
}

TEST(FoldConstants, LeavesFirstStepsToPassesThatWantThem) {
  const std::string text = R"(
    const @h: f32[1,2] = dense<[0, 0]>
    const @one: f32[1,2] = dense<[0, 1]>
    const @w: f32[2,3] = splat<0.5>
    const @b: f32[3] = splat<1.0>
    method f(%x: f32[3]) {
      %h: f32[1,2] = const @h
      %one: f32[1,2] = const @one
      %w: f32[2,3] = const @w
      %b: f32[3] = const @b
      %m: f32[1,3] = aten::mm(%h, %w)
      %a: f32[1,3] = aten::addmm(%b, %h, %w, 1, 1)
      %n: f32[1,3] = aten::mm(%one, %w)
      return %m, %a, %n
    })";
  Options keep;
  keep.keep_first_steps = true;
  const auto folded = [](const std::string& all) { return std::count(all.begin(), all.end(), '\n'); };
  EXPECT_EQ(folded(reasons(text, keep)), 1);
  EXPECT_NE(reasons(text, keep).find("(%n)"), std::string::npos);
  EXPECT_EQ(folded(reasons(text)), 3);
}

TEST(FoldConstants, LeavesARepeatedValueAsOne) {
  // 4 MB each, if they were written out.
  const std::string text = R"(
    const @w: f32[1024,1024] = splat<3.0>
    method f(%x: f32[1,1024]) {
      %w: f32[1024,1024] = const @w
      %t: f32[1024,1024] = aten::permute_copy(%w, [1, 0])
      %e: f32[1024,1024] = aten::exp(%t)
      %s: f32[1024,1024] = aten::add.Tensor(%t, %w)
      %m: f32[1024,1024] = aten::mul.Tensor(%s, %e)
      return %s, %m
    })";
  const std::string now = after(fold_constants, text);
  EXPECT_NE(now.find("const @s: f32[1024,1024] = splat<6>"), std::string::npos) << now.substr(0, 300);
  EXPECT_NE(now.find("= splat<120.51322>"), std::string::npos) << now.substr(0, 300);  // 6 * e^3
}

TEST(FoldConstants, AViewOfAConstantSharesItsBytes) {
  const std::string path = testing::TempDir() + "berth_fold_" + std::to_string(::getpid());
  std::ofstream(path) << std::string(4096, 'a');
  const std::string text = filled(R"(
    const @w: u8[4096] = file("$path", 0, 4096)
    method f() {
      %w: u8[4096] = const @w
      %v: u8[64,64] = aten::view_copy(%w, [64, 64])
      return %v
    })",
                                  {{"path", path}});
  auto module = ir::parse(text, "t", testing::TempDir());
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_TRUE(fold_constants(*module, Options()).ok());
  ASSERT_EQ(module->constants.size(), 1u);
  EXPECT_TRUE(module->constants[{0}].blob.is_mapped());
  EXPECT_TRUE(ir::verify(*module).ok());
  ::unlink(path.c_str());
}

TEST(FoldConstants, LeavesLargeResults) {
  EXPECT_NE(reasons(R"(
    const @w: f32[1,1024] = splat<3.0>
    method f() {
      %w: f32[1,1024] = const @w
      %e: f32[1024,1024] = aten::expand_copy(%w, [1024, 1024])
      return %e
    })")
                .find("keep: larger than its inputs and over 1 MB"),
            std::string::npos);
  EXPECT_NE(reasons(R"(
    method f() {
      %e: f32[1024,1024] = aten::full([1024, 1024], 1.0)
      return %e
    })")
                .find("keep: larger than its inputs and over 1 MB"),
            std::string::npos);
  // One element less than the limit is folded.
  EXPECT_NE(reasons(R"(
    method f() {
      %e: f32[262144] = aten::full([262144], 1.0)
      return %e
    })")
                .find(": folded"),
            std::string::npos);
}

TEST(FoldConstants, TotalSizeStaysWithinTheLimit) {
  Options options;
  options.fold_limit = 20;
  const std::string why = reasons(R"(
    const @w: f32[4] = dense<[1.0, 2.0, 3.0, 4.0]>
    method f() {
      %w: f32[4] = const @w
      %a: f32[4] = aten::neg(%w)
      %b: f32[4] = aten::exp(%w)
      return %a, %b
    })",
                                  options);
  EXPECT_NE(why.find("aten::neg (%a): folded"), std::string::npos) << why;
  EXPECT_NE(why.find("aten::exp (%b): keep: all folded constants would take more than the limit, 20 bytes"),
            std::string::npos)
      << why;
}

TEST(FoldConstants, LeavesWhatCannotBeComputed) {
  // An index out of range is an error of the run, not of the compiler.
  const std::string text = R"(
    const @w: f32[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>
    const @i: i64[1] = dense<[7]>
    method f() {
      %w: f32[2,2] = const @w
      %i: i64[1] = const @i
      %y: f32[1,2] = aten::embedding(%w, %i)
      return %y
    })";
  EXPECT_NE(reasons(text).find("keep: kernel-failed"), std::string::npos);
  EXPECT_EQ(after(fold_constants, text), as_printed(text));
}

TEST(FoldConstants, LeavesSizesThatDependOnContents) {
  EXPECT_NE(reasons(R"(
    symbol k in [0, 3]
    const @w: i64[3] = dense<[0, 1, 1]>
    method f() {
      %w: i64[3] = const @w
      %y: i64[k,1] = aten::nonzero(%w)
      return %y
    })")
                .find("keep: size-unknown"),
            std::string::npos);
}

TEST(FoldConstants, LeavesStatesAndInputs) {
  const std::string text = R"(
    state @s: f32[2]
    method f(%x: f32[2]) {
      %a: f32[2] = berth::state_read() @s
      %b: f32[2] = aten::add.Tensor(%a, %x)
      return %b
    })";
  EXPECT_EQ(after(fold_constants, text), as_printed(text));
}

}  // namespace
}  // namespace berth::passes
