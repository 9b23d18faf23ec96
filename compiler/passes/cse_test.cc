#include "compiler/passes/cse.h"

#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

TEST(Cse, EqualNodesBecomeOne) {
  const std::string text = R"(
    method f(%x: f32[2,3]) {
      %a: f32[2] = aten::amax(%x, [1], false)
      %b: f32[2] = aten::amax(%x, [1], false)
      %c: f32[2] = aten::add.Tensor(%a, %b)
      return %c
    })";
  EXPECT_EQ(after(cse, text), as_printed(R"(
    method f(%x: f32[2,3]) {
      %a: f32[2] = aten::amax(%x, [1], false)
      %c: f32[2] = aten::add.Tensor(%a, %a, 1)
      return %c
    })"));
  expect_keeps_outputs(cse, text);
}

TEST(Cse, ChainsOfEqualNodesBecomeOneChain) {
  const std::string text = R"(
    method f(%x: f32[2]) {
      %a: f32[2] = aten::relu(%x)
      %a2: f32[2] = aten::neg(%a)
      %b: f32[2] = aten::relu(%x)
      %b2: f32[2] = aten::neg(%b)
      %c: f32[2] = aten::mul.Tensor(%a2, %b2)
      return %c
    })";
  EXPECT_EQ(after(cse, text), as_printed(R"(
    method f(%x: f32[2]) {
      %a: f32[2] = aten::relu(%x)
      %a2: f32[2] = aten::neg(%a)
      %c: f32[2] = aten::mul.Tensor(%a2, %a2)
      return %c
    })"));
  expect_keeps_outputs(cse, text);
}

TEST(Cse, LeavesNodesThatDiffer) {
  // In an argument, in a number's kind, in a list, in a text.
  const std::string text = R"(
    method f(%x: f32[2,2]) {
      %a: f32[2] = aten::amax(%x, [1], false)
      %b: f32[2] = aten::amax(%x, [0], false)
      %c: f32[2,2] = aten::add.Scalar(%x, 1, 1)
      %d: f32[2,2] = aten::add.Scalar(%x, 1.5, 1)
      %e: f32[2,2] = aten::gelu(%x, "none")
      %g: f32[2,2] = aten::gelu(%x, "tanh")
      return %a, %b, %c, %d, %e, %g
    })";
  EXPECT_EQ(after(cse, text), as_printed(text));
}

TEST(Cse, LeavesRandomNumbers) {
  const std::string text = R"(
    method f(%x: f32[2]) {
      %a: f32[2] = aten::rand([2])
      %b: f32[2] = aten::rand([2])
      %c: f32[2] = aten::add.Tensor(%a, %b, 1)
      return %c
    })";
  EXPECT_EQ(after(cse, text), as_printed(text));
}

TEST(Cse, TwoEqualOutputsStayTwoTensors) {
  const std::string text = R"(
    method f(%x: f32[2]) {
      %a: f32[2] = aten::relu(%x)
      %b: f32[2] = aten::relu(%x)
      return %a, %b
    })";
  std::vector<std::string> why;
  EXPECT_EQ(after(cse, text, &why), as_printed(text));
  EXPECT_EQ(why, std::vector<std::string>{"cse: aten::relu (%b): keep: graph-output"});
}

TEST(Cse, AValueOfARegionIsNotUsedOutside) {
  const std::string text = R"(
    method f(%c: bool, %x: f32[2]) {
      %r: f32[2] = berth::if(%c) {
        ()
        %a: f32[2] = aten::relu(%x)
        yield %a
      } {
        ()
        %b: f32[2] = aten::relu(%x)
        yield %b
      }
      %d: f32[2] = aten::relu(%x)
      return %r, %d
    })";
  EXPECT_EQ(after(cse, text), as_printed(text));
  // But what stands before it is used within.
  const std::string outer = R"(
    method f(%c: bool, %x: f32[2]) {
      %d: f32[2] = aten::relu(%x)
      %r: f32[2] = berth::if(%c) {
        ()
        %a: f32[2] = aten::relu(%x)
        %n: f32[2] = aten::neg(%a)
        yield %n
      } {
        ()
        yield %x
      }
      return %r, %d
    })";
  EXPECT_NE(after(cse, outer).find("aten::neg(%d)"), std::string::npos);
}

TEST(Cse, EqualConstantsOfAllMethodsBecomeOne) {  // Holds row 219.
  const std::string text = R"(
  const @a: f32[2] = dense<[1.0, 2.0]>
  const @b: f32[2] = dense<[1.0, 2.0]>
  const @c: f32[2] = dense<[1.0, 3.0]>
  const @d: i32[2] = dense<[1065353216, 1073741824]>
  method f(%x: f32[2]) {
    %a: f32[2] = const @a
    %c: f32[2] = const @c
    %y: f32[2] = aten::add.Tensor(%x, %a)
    %z: f32[2] = aten::add.Tensor(%y, %c)
    return %z
  }
  method g(%x: f32[2], %i: i32[2]) {
    %b: f32[2] = const @b
    %d: i32[2] = const @d
    %y: f32[2] = aten::mul.Tensor(%x, %b)
    %z: i32[2] = aten::mul.Tensor(%i, %d)
    return %y, %z
  })";
  const std::string now = after(cse, text);
  EXPECT_EQ(now.find("const @b"), std::string::npos) << now;
  EXPECT_NE(now.find("const @c"), std::string::npos) << now;
  // The same bytes of another type are another constant.
  EXPECT_NE(now.find("const @d"), std::string::npos) << now;
  expect_keeps_outputs(cse, text);
}

TEST(Cse, LeavesEqualCallsOfADelegate) {
  const std::string text = R"(
    delegate @d "Chip" = hex"01"
    method f(%x: f32[2]) {
      %a: f32[2] = berth::delegate([%x]) @d
      %b: f32[2] = berth::delegate([%x]) @d
      %c: f32[2] = aten::add.Tensor(%a, %b, 1)
      return %c
    })";
  EXPECT_EQ(after(cse, text), as_printed(text));
}

}  // namespace
}  // namespace berth::passes
