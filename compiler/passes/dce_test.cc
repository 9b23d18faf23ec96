#include "compiler/passes/dce.h"

#include "base/text_testing.h"
#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

TEST(Dce, RemovesUnreadNodesAndTheirOnlyInputs) {
  const std::string text = R"(
    const @w: f32[2] = dense<[1.0, 2.0]>
    method f(%x: f32[2]) {
      %w: f32[2] = const @w
      %a: f32[2] = aten::relu(%x)
      %b: f32[2] = aten::add.Tensor(%a, %w)
      %c: f32[2] = aten::neg(%b)
      return %a
    })";
  std::vector<std::string> why;
  EXPECT_EQ(after(dce, text, &why), as_printed(R"(
    method f(%x: f32[2]) {
      %a: f32[2] = aten::relu(%x)
      return %a
    })"));
  EXPECT_EQ(why.size(), 2u);
  expect_keeps_outputs(dce, text);
}

TEST(Dce, RemovesUnreadConstants) {
  ir::Module module = parsed(R"(
    const @a: f32[1] = splat<1.0>
    const @b: f32[1] = splat<2.0>
    method f() {
      %b: f32[1] = const @b
      return %b
    })");
  const auto changed = dce(module, Options());
  ASSERT_TRUE(changed.ok());
  ASSERT_EQ(module.constants.size(), 1u);
  EXPECT_EQ(module.constants[{0}].name, "b");
  EXPECT_TRUE(ir::verify(module).ok());
  // The value of a constant that moved is found again, not made twice.
  const size_t values = module.methods[0].values.size();
  module.methods[0].constant_value(module, {0});
  EXPECT_EQ(module.methods[0].values.size(), values);
}

TEST(Dce, KeepsNodesWithEffects) {
  const std::string text = R"(
    state @s: f32[2]
    method f(%x: f32[2], %c: bool) {
      %a: f32[2] = aten::relu(%x)
      berth::state_write(%a) @s
      berth::if(%c) {
        ()
        berth::state_write(%x) @s
        yield
      } {
        ()
        yield
      }
      return
    })";
  EXPECT_EQ(after(dce, text), as_printed(text));
}

TEST(Dce, KeepsNodesReadOnlyByARegion) {
  const std::string text = R"(
    method f(%x: f32[2], %c: bool) {
      %a: f32[2] = aten::relu(%x)
      %r: f32[2] = berth::if(%c) {
        ()
        yield %a
      } {
        ()
        yield %x
      }
      return %r
    })";
  EXPECT_EQ(after(dce, text), as_printed(text));
}

TEST(Dce, KeepsANodeWithOneReadResult) {
  const std::string text = R"(
    method f(%x: f32[1,1,4,4]) {
      %m: f32[1,1,2,2], %i: i64[1,1,2,2] = aten::max_pool2d_with_indices(%x, [2, 2], [], [0], [1], false)
      return %m
    })";
  EXPECT_EQ(after(dce, text), as_printed(text));
}

// Nothing reads the places themselves, but how many there are is a size of what is read.
TEST(Dce, KeepsANodeWhoseSizeIsRead) {
  const std::string text = R"(
    symbol k in [0, 4]
    method f(%x: f32[4]) {
      %p: i64[k,1] = aten::nonzero(%x)
      %f: f32[k] = aten::full([k], 1.0, 6)
      return %f
    })";
  EXPECT_EQ(after(dce, text), as_printed(text));
  const std::string unused = R"(
    symbol k in [0, 4]
    method f(%x: f32[4]) {
      %p: i64[k,1] = aten::nonzero(%x)
      return %x
    })";
  EXPECT_EQ(after(dce, unused).find("nonzero"), std::string::npos);
}

// Only the backend knows what else they do; of Berth's own nested programs it is known that they do nothing else.
TEST(Dce, KeepsDelegateCallsWithUnknownEffects) {
  const auto text = [](const std::string& backend) {
    return filled(R"(
      delegate @d "$backend" = hex"01"
      method f(%x: f32[2], %c: bool) {
        %a: f32[2] = berth::delegate([%x]) @d
        berth::if(%c) {
          ()
          %b: f32[2] = berth::delegate([%x]) @d
          yield
        } {
          ()
          yield
        }
        return %x
      })",
                  {{"backend", backend}});
  };
  EXPECT_EQ(after(dce, text("Chip")), as_printed(text("Chip")));
  EXPECT_EQ(after(dce, text("berth.cpu")).find("berth::delegate"), std::string::npos);
}

}  // namespace
}  // namespace berth::passes
