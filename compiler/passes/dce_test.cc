#include "compiler/passes/dce.h"

#include "compiler/passes/testing.h"

namespace berth::passes {
namespace {

TEST(UnreadNodes, GoWithAllThatOnlyTheyRead) {
  const std::string text =
      "const @w: f32[2] = dense<[1.0, 2.0]>\nmethod f(%x: f32[2]) {\n  %w: f32[2] = const @w\n"
      "  %a: f32[2] = aten::relu(%x)\n  %b: f32[2] = aten::add.Tensor(%a, %w)\n  %c: f32[2] = aten::neg(%b)\n"
      "  return %a\n}\n";
  std::vector<std::string> why;
  EXPECT_EQ(after(dce, text, &why), "\nmethod f(%x: f32[2]) {\n  %a: f32[2] = aten::relu(%x)\n  return %a\n}\n");
  EXPECT_EQ(why.size(), 2u);
  expect_keeps_outputs(dce, text);
}

TEST(UnreadConstants, LeaveTheModule) {
  ir::Module module = parsed(
      "const @a: f32[1] = splat<1.0>\nconst @b: f32[1] = splat<2.0>\nmethod f() {\n"
      "  %b: f32[1] = const @b\n  return %b\n}\n");
  const auto changed = dce(module, Options());
  ASSERT_TRUE(changed.ok());
  ASSERT_EQ(module.constants.size(), 1u);
  EXPECT_EQ(module.constants[0].name, "b");
  EXPECT_TRUE(ir::verify(module).ok());
  // The value of a constant that moved is found again, not made twice.
  const size_t values = module.methods[0].values.size();
  module.methods[0].constant_value(module, 0);
  EXPECT_EQ(module.methods[0].values.size(), values);
}

TEST(NodesWithEffects, Stay) {
  const std::string text =
      "state @s: f32[2]\nmethod f(%x: f32[2], %c: bool) {\n  %a: f32[2] = aten::relu(%x)\n"
      "  berth::state_write(%a) @s\n  berth::if(%c) {\n    ()\n    berth::state_write(%x) @s\n    yield\n  } {\n    "
      "()\n"
      "    yield\n  }\n  return\n}\n";
  EXPECT_EQ(after(dce, text), as_printed(text));
}

TEST(NodesReadOnlyByARegion, Stay) {
  const std::string text =
      "method f(%x: f32[2], %c: bool) {\n  %a: f32[2] = aten::relu(%x)\n  %r: f32[2] = berth::if(%c) {\n    ()\n"
      "    yield %a\n  } {\n    ()\n    yield %x\n  }\n  return %r\n}\n";
  EXPECT_EQ(after(dce, text), as_printed(text));
}

TEST(ANodeWithOneReadResult, Stays) {
  const std::string text =
      "method f(%x: f32[1,1,4,4]) {\n  %m: f32[1,1,2,2], %i: i64[1,1,2,2] = aten::max_pool2d_with_indices(%x, [2, 2], "
      "[], [0], [1], false)\n  return %m\n}\n";
  EXPECT_EQ(after(dce, text), as_printed(text));
}

// Nobody reads the places themselves, but how many there are is a size of what is read.
TEST(ANodeThatTellsASize, StaysWhenTheSizeIsUsed) {
  const std::string text =
      "symbol k in [0, 4]\nmethod f(%x: f32[4]) {\n  %p: i64[k,1] = aten::nonzero(%x)\n"
      "  %f: f32[k] = aten::full([k], 1.0, 6)\n  return %f\n}\n";
  EXPECT_EQ(after(dce, text), as_printed(text));
  const std::string unused =
      "symbol k in [0, 4]\nmethod f(%x: f32[4]) {\n  %p: i64[k,1] = aten::nonzero(%x)\n  return %x\n}\n";
  EXPECT_EQ(after(dce, unused).find("nonzero"), std::string::npos);
}

// Only the backend knows what else they do; of Berth's own nested programs it is known that they do nothing else.
TEST(CallsOfDelegatesWithUnknownEffects, StayThoughNothingReadsThem) {
  const auto text = [](const std::string& backend) {
    return "delegate @d \"" + backend + "\" = hex\"01\"\nmethod f(%x: f32[2], %c: bool) {\n" +
           "  %a: f32[2] = berth::delegate([%x]) @d\n  berth::if(%c) {\n    ()\n" +
           "    %b: f32[2] = berth::delegate([%x]) @d\n    yield\n  } {\n    ()\n    yield\n  }\n  return %x\n}\n";
  };
  EXPECT_EQ(after(dce, text("Chip")), as_printed(text("Chip")));
  EXPECT_EQ(after(dce, text("berth.cpu")).find("berth::delegate"), std::string::npos);
}

}  // namespace
}  // namespace berth::passes
