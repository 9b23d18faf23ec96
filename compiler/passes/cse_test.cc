#include "compiler/passes/cse.h"

#include "compiler/passes/testing.h"

namespace berth::passes {
namespace {

TEST(EqualNodes, BecomeOne) {
  const std::string text =
      "method f(%x: f32[2,3]) {\n  %a: f32[2] = aten::amax(%x, [1], false)\n"
      "  %b: f32[2] = aten::amax(%x, [1], false)\n  %c: f32[2] = aten::add.Tensor(%a, %b)\n  return %c\n}\n";
  EXPECT_EQ(after(cse, text),
            "\nmethod f(%x: f32[2,3]) {\n  %a: f32[2] = aten::amax(%x, [1], false)\n"
            "  %c: f32[2] = aten::add.Tensor(%a, %a, 1)\n  return %c\n}\n");
  expect_keeps_outputs(cse, text);
}

TEST(ChainsOfEqualNodes, BecomeOneChain) {
  const std::string text =
      "method f(%x: f32[2]) {\n  %a: f32[2] = aten::relu(%x)\n  %a2: f32[2] = aten::neg(%a)\n"
      "  %b: f32[2] = aten::relu(%x)\n  %b2: f32[2] = aten::neg(%b)\n  %c: f32[2] = aten::mul.Tensor(%a2, %b2)\n"
      "  return %c\n}\n";
  EXPECT_EQ(after(cse, text),
            "\nmethod f(%x: f32[2]) {\n  %a: f32[2] = aten::relu(%x)\n  %a2: f32[2] = aten::neg(%a)\n"
            "  %c: f32[2] = aten::mul.Tensor(%a2, %a2)\n  return %c\n}\n");
  expect_keeps_outputs(cse, text);
}

TEST(NodesThatDiffer, Stay) {
  // In an argument, in a number's kind, in a list, in a text.
  const std::string text =
      "method f(%x: f32[2,2]) {\n  %a: f32[2] = aten::amax(%x, [1], false)\n  %b: f32[2] = aten::amax(%x, [0], false)\n"
      "  %c: f32[2,2] = aten::add.Scalar(%x, 1, 1)\n  %d: f32[2,2] = aten::add.Scalar(%x, 1.5, 1)\n"
      "  %e: f32[2,2] = aten::gelu(%x, \"none\")\n  %g: f32[2,2] = aten::gelu(%x, \"tanh\")\n"
      "  return %a, %b, %c, %d, %e, %g\n}\n";
  EXPECT_EQ(after(cse, text), as_printed(text));
}

TEST(RandomNumbers, AreNotMerged) {
  const std::string text =
      "method f(%x: f32[2]) {\n  %a: f32[2] = aten::rand([2])\n  %b: f32[2] = aten::rand([2])\n"
      "  %c: f32[2] = aten::add.Tensor(%a, %b, 1)\n  return %c\n}\n";
  EXPECT_EQ(after(cse, text), as_printed(text));
}

TEST(TwoEqualOutputs, StayTwoTensors) {
  const std::string text =
      "method f(%x: f32[2]) {\n  %a: f32[2] = aten::relu(%x)\n  %b: f32[2] = aten::relu(%x)\n  return %a, %b\n}\n";
  std::vector<std::string> why;
  EXPECT_EQ(after(cse, text, &why), as_printed(text));
  EXPECT_EQ(why, std::vector<std::string>{"cse: aten::relu (%b): keep: graph-output"});
}

TEST(WhatARegionComputes, IsNotUsedOutsideOfIt) {
  const std::string text =
      "method f(%c: bool, %x: f32[2]) {\n  %r: f32[2] = berth::if(%c) {\n    ()\n    %a: f32[2] = aten::relu(%x)\n"
      "    yield %a\n  } {\n    ()\n    %b: f32[2] = aten::relu(%x)\n    yield %b\n  }\n  %d: f32[2] = aten::relu(%x)\n"
      "  return %r, %d\n}\n";
  EXPECT_EQ(after(cse, text), as_printed(text));
  // But what stands before it is used within.
  const std::string outer =
      "method f(%c: bool, %x: f32[2]) {\n  %d: f32[2] = aten::relu(%x)\n  %r: f32[2] = berth::if(%c) {\n    ()\n"
      "    %a: f32[2] = aten::relu(%x)\n    %n: f32[2] = aten::neg(%a)\n    yield %n\n  } {\n    ()\n    yield %x\n  "
      "}\n"
      "  return %r, %d\n}\n";
  EXPECT_NE(after(cse, outer).find("aten::neg(%d)"), std::string::npos);
}

TEST(EqualConstants, BecomeOneAcrossMethods) {  // Holds row 219.
  const std::string text =
      "const @a: f32[2] = dense<[1.0, 2.0]>\nconst @b: f32[2] = dense<[1.0, 2.0]>\nconst @c: f32[2] = dense<[1.0, "
      "3.0]>\n"
      "const @d: i32[2] = dense<[1065353216, 1073741824]>\n"
      "method f(%x: f32[2]) {\n  %a: f32[2] = const @a\n  %c: f32[2] = const @c\n"
      "  %y: f32[2] = aten::add.Tensor(%x, %a)\n  %z: f32[2] = aten::add.Tensor(%y, %c)\n  return %z\n}\n"
      "method g(%x: f32[2], %i: i32[2]) {\n  %b: f32[2] = const @b\n  %d: i32[2] = const @d\n"
      "  %y: f32[2] = aten::mul.Tensor(%x, %b)\n  %z: i32[2] = aten::mul.Tensor(%i, %d)\n  return %y, %z\n}\n";
  const std::string now = after(cse, text);
  EXPECT_EQ(now.find("const @b"), std::string::npos) << now;
  EXPECT_NE(now.find("const @c"), std::string::npos) << now;
  // The same bytes of another type are another constant.
  EXPECT_NE(now.find("const @d"), std::string::npos) << now;
  expect_keeps_outputs(cse, text);
}

TEST(EqualCallsOfADelegate, AreTwoCalls) {
  const std::string text =
      "delegate @d \"Chip\" = hex\"01\"\nmethod f(%x: f32[2]) {\n  %a: f32[2] = berth::delegate([%x]) @d\n"
      "  %b: f32[2] = berth::delegate([%x]) @d\n  %c: f32[2] = aten::add.Tensor(%a, %b, 1)\n  return %c\n}\n";
  EXPECT_EQ(after(cse, text), as_printed(text));
}

}  // namespace
}  // namespace berth::passes
