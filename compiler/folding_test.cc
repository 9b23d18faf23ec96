// The fear: what is known before the program runs still takes memory while it runs.
#include <gtest/gtest.h>

#include "base/text_testing.h"
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
std::string fused_for(const std::string& target, const std::string& text) {
  auto module = ir::parse(text, "test");
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return "";
  CompileOptions options;
  options.target = target;
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
  const std::string lines = fused_for("vulkan:0", R"(
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

// What an LSTM adds of a state of zeros is known, but folded its first step would be none.
TEST(Folding, FirstStepsOfRecurrentLayersAreStepsOfTheLayer) {
  std::string text = R"(
    const @h: f32[1,2] = splat<0.0>
    const @c: f32[1,2] = splat<0.0>
    const @w: f32[2,8] = splat<0.25>
    const @b: f32[8] = splat<0.5>
    const @u: f32[3,8] = splat<0.75>
    method forward(%x: f32[2,3]) {
      %u: f32[3,8] = const @u
      %h0: f32[1,2] = const @h
      %c0: f32[1,2] = const @c
      %w: f32[2,8] = const @w
      %b: f32[8] = const @b
      %r: f32[2,8] = aten::addmm(%b, %x, %u, 1, 1)
      %g: f32[2,1,8] = aten::view_copy(%r, [2, 1, 8])
  )";
  for (const std::string t : {"0", "1"}) {
    const std::string next = t == "0" ? "1" : "2";
    text += filled(R"(
      %s$t: f32[1,8] = aten::select_copy.int(%g, 0, $t)
      %e$t: f32[1,8] = aten::addmm(%b, %h$t, %w, 1, 1)
      %a$t: f32[1,8] = aten::add.Tensor(%s$t, %e$t, 1)
      %i$t: f32[1,2], %f$t: f32[1,2], %p$t: f32[1,2], %o$t: f32[1,2] = aten::split_with_sizes_copy(%a$t, [2, 2, 2, 2], 1)
      %si$t: f32[1,2] = aten::sigmoid(%i$t)
      %sf$t: f32[1,2] = aten::sigmoid(%f$t)
      %tp$t: f32[1,2] = aten::tanh(%p$t)
      %so$t: f32[1,2] = aten::sigmoid(%o$t)
      %k$t: f32[1,2] = aten::mul.Tensor(%sf$t, %c$t)
      %m$t: f32[1,2] = aten::mul.Tensor(%si$t, %tp$t)
      %c$next: f32[1,2] = aten::add.Tensor(%k$t, %m$t, 1)
      %y$t: f32[1,2] = aten::tanh(%c$next)
      %h$next: f32[1,2] = aten::mul.Tensor(%so$t, %y$t)
    )",
                   {{"t", t}, {"next", next}});
  }
  const std::string lines = fused_for("cpu", text + "return %h1, %h2\n}");
  EXPECT_NE(lines.find("fused into berth::lstm\n"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("berth::lstm_gates"), std::string::npos) << lines;
}

TEST(Folding, ProductsWithZerosThatAreNotStepsAreConstants) {
  const std::string lines = fused_for("cpu", R"(
      const @h: f32[1,2] = splat<0.0>
      const @w: f32[2,8] = splat<0.25>
      method forward(%x: f32[1,8]) {
        %h: f32[1,2] = const @h
        %w: f32[2,8] = const @w
        %z: f32[1,8] = aten::mm(%h, %w)
        %s: f32[1,8] = aten::add.Tensor(%x, %z, 1)
        %y: f32[1,8] = aten::tanh(%s)
        return %y
      })");
  EXPECT_EQ(lines.find("aten::mm"), std::string::npos) << lines;
}

// As ONNX's DFT of real numbers is made, whose real part alone is read.
TEST(Folding, FourierTransformsOfRealNumbersAreOneProductOfTheColumnsThatAreRead) {
  const std::string lines = fused_for("cpu", R"(
      const @z: f32[2,4,1] = splat<0.0>
      const @w: f32[4,8] = dense<[1, 2, 3, 4, 5, 6, 7, 8, 2, 3, 4, 5, 6, 7, 8, 9, 3, 4, 5, 6, 7, 8, 9, 1, 4, 5, 6, 7, 8, 9, 1, 2]>
      method forward(%x: f32[2,4,1]) {
        %z: f32[2,4,1] = const @z
        %w: f32[4,8] = const @w
        %j: f32[2,4,2] = aten::cat([%x, %z], 2)
        %a: f32[2,4] = aten::select_copy.int(%j, 2, 0)
        %b: f32[2,4] = aten::select_copy.int(%j, 2, 1)
        %r: f32[2,8] = aten::mm(%a, %w)
        %i: f32[2,8] = aten::mm(%b, %w)
        %rc: f32[2,4] = aten::slice_copy.Tensor(%r, 1, 0, 4, 1)
        %rs: f32[2,4] = aten::slice_copy.Tensor(%r, 1, 4, 8, 1)
        %ic: f32[2,4] = aten::slice_copy.Tensor(%i, 1, 0, 4, 1)
        %is: f32[2,4] = aten::slice_copy.Tensor(%i, 1, 4, 8, 1)
        %c: f32[2,4] = aten::sub.Tensor(%rc, %is, 1)
        %s: f32[2,4] = aten::add.Tensor(%rs, %ic, 1)
        %k: f32[2,4,2] = aten::stack([%c, %s], -1)
        %y: f32[2,4] = aten::select_copy.int(%k, 2, 0)
        return %y
      })");
  EXPECT_EQ(occurrences(lines, "aten::mm"), 1u) << lines;
  EXPECT_EQ(lines.find("aten::sub"), std::string::npos) << lines;
}

}  // namespace
}  // namespace berth
