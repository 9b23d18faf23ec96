// The fear: what is known before the program runs still takes memory while it runs.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/emit/plan_and_emit_testing.h"
#include "compiler/ir/parse.h"

namespace berth {
namespace {

constexpr const char* kExpanded = R"(
  const @c: f32[1,1024] = splat<3>
  method forward(%x: f32[1,16]) {
    %c: f32[1,1024] = const @c
    %a: f32[1,1024] = aten::exp(%c)
    %b: f32[1,1024] = aten::neg(%a)
    %s: f32[1,1] = aten::sum.dim_IntList(%b, [1], true, none)
    %y: f32[1,16] = aten::add.Tensor(%x, %s, 1)
    return %y
  })";

// Holds row 145.
TEST(Folding, FoldedNodesTakeNoBytesInTheArena) {
  auto module = ir::parse(kExpanded, "test");
  ASSERT_TRUE(module.ok()) << module.error().text();
  const auto emitted = emit::testing::plan_and_emit(*module, {});
  ASSERT_TRUE(emitted.ok()) << emitted.error().text();
  ASSERT_EQ(emitted->arenas.size(), 1u);
  EXPECT_GE(emitted->arenas[0].bytes, 4096u) << "as it is written, the exponentials have a place";
  CompileReport report;
  const auto program = compile(std::move(*module), {}, &report);
  ASSERT_TRUE(program.ok()) << program.error().text();
  ASSERT_EQ(report.arenas.size(), 1u);
  EXPECT_LE(report.arenas[0].bytes, 128) << "x and y";
}

// What fusion made of the nodes, in a line each.
std::string fused_for_vulkan(const std::string& text) {
  auto module = ir::parse(text, "test");
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return "";
  CompileOptions options;
  options.target = "vulkan:0";
  options.why = {"fusion"};
  CompileReport report;
  const auto program = compile(std::move(*module), options, &report);
  EXPECT_TRUE(program.ok()) << program.error().text();
  EXPECT_EQ(report.delegates.size(), 1u);
  std::string lines;
  for (const std::string& line : report.why) lines += line + "\n";
  return lines;
}

// They stay bytes for products of bytes, and so does what those leave.
TEST(Folding, WeightsOfBytesThatMeetFloatsAreFloatsInDelegates) {
  const std::string lines = fused_for_vulkan(R"(
      const @q: i8[3,4] = dense<[1, -2, 3, -4, 5, -6, 7, -8, 1, 2, 3, 4]>
      const @s: f32[] = dense<[0.5]>
      method forward(%x: f32[2,3]) {
        %q: i8[3,4] = const @q
        %s: f32[] = const @s
        %f: f32[3,4] = dim_order_ops::_to_dim_order_copy(%q, false, none, f32)
        %w: f32[3,4] = aten::mul.Tensor(%f, %s)
        %y: f32[2,4] = aten::mm(%x, %w)
        %z: f32[2,4] = aten::relu(%y)
        return %z
      })");
  EXPECT_NE(lines.find("fused into berth::linear"), std::string::npos) << lines;
}

}  // namespace
}  // namespace berth
