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

}  // namespace
}  // namespace berth
