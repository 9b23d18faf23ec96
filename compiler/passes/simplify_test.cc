#include "compiler/passes/simplify.h"

#include "compiler/passes/testing.h"

namespace berth::passes {
namespace {

struct Case {
  const char* name;
  const char* before;  // statements behind `(%x: f32[2,3], %n: f32[n,3])`; the last result is %y
  const char* after;
};

std::string method(const std::string& statements) {
  return "symbol n in [1, 8]\nconst @zeros: f32[3] = splat<0.0>\nconst @ones: f32[2,3] = splat<1.0>\n"
         "method forward(%x: f32[2,3], %n: f32[n,3], %i: i64[2,3]) {\n" +
         statements + "  return %y\n}\n";
}

class Simplifies : public testing::TestWithParam<Case> {};

TEST_P(Simplifies, ToWhatItGives) {
  const std::string before = method(GetParam().before);
  EXPECT_EQ(after(simplify, before), as_printed(method(GetParam().after)));
  expect_keeps_outputs(simplify, before);
}

// Each ends in a relu, so that the output is no input.
#define CLOSE "  %y: f32[2,3] = aten::relu(%a)\n"
#define ONLY "  %y: f32[2,3] = aten::relu(%x)\n"
const Case kCases[] = {
    {"Clone", "  %a: f32[2,3] = aten::clone(%x, none)\n" CLOSE, ONLY},
    {"CastToItself", "  %a: f32[2,3] = dim_order_ops::_to_dim_order_copy(%x, false, none, f32)\n" CLOSE, ONLY},
    {"PlusZero", "  %z: f32[3] = const @zeros\n  %a: f32[2,3] = aten::add.Tensor(%x, %z, 1)\n" CLOSE, ONLY},
    {"ZeroPlus", "  %z: f32[3] = const @zeros\n  %a: f32[2,3] = aten::add.Tensor(%z, %x, 1)\n" CLOSE, ONLY},
    {"TimesOne", "  %o: f32[2,3] = const @ones\n  %a: f32[2,3] = aten::mul.Tensor(%o, %x)\n" CLOSE, ONLY},
    {"DividedByOne", "  %a: f32[2,3] = aten::div.Scalar(%x, 1)\n" CLOSE, ONLY},
    {"ExpandToItself", "  %a: f32[2,3] = aten::expand_copy(%x, [-1, 3], false)\n" CLOSE, ONLY},
    {"SliceOfAll", "  %a: f32[2,3] = aten::slice_copy.Tensor(%x, 1, 0, 9223372036854775807, 1)\n" CLOSE, ONLY},
    {"CatOfOne", "  %a: f32[2,3] = aten::cat([%x], 0)\n" CLOSE, ONLY},
    {"PadOfNothing", "  %a: f32[2,3] = aten::constant_pad_nd(%x, [0, 0], 0)\n" CLOSE, ONLY},
    {"ViewOfView", "  %v: f32[6] = aten::view_copy(%x, [-1])\n  %a: f32[2,3] = aten::view_copy(%v, [2, 3])\n" CLOSE,
     "  %v: f32[6] = aten::view_copy(%x, [-1])\n" ONLY},
    {"ViewOfUnsqueeze",
     "  %v: f32[1,2,3] = aten::unsqueeze_copy(%x, 0)\n  %a: f32[3,2] = aten::view_copy(%v, [3, 2])\n"
     "  %y: f32[3,2] = aten::relu(%a)\n",
     "  %v: f32[1,2,3] = aten::unsqueeze_copy(%x, 0)\n  %a: f32[3,2] = aten::view_copy(%x, [3, 2])\n"
     "  %y: f32[3,2] = aten::relu(%a)\n"},
    {"PermuteBack",
     "  %p: f32[3,2] = aten::permute_copy(%x, [1, 0])\n  %a: f32[2,3] = aten::permute_copy(%p, [1, 0])\n" CLOSE,
     "  %p: f32[3,2] = aten::permute_copy(%x, [1, 0])\n" ONLY},
    {"PermuteOfTranspose",
     "  %u: f32[1,2,3] = aten::unsqueeze_copy(%x, 0)\n  %p: f32[3,2,1] = aten::transpose_copy.int(%u, 0, -1)\n"
     "  %y: f32[2,1,3] = aten::permute_copy(%p, [1, 2, 0])\n",
     "  %u: f32[1,2,3] = aten::unsqueeze_copy(%x, 0)\n  %p: f32[3,2,1] = aten::transpose_copy.int(%u, 0, -1)\n"
     "  %y: f32[2,1,3] = aten::permute_copy(%u, [1, 0, 2])\n"},
};

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Simplifies, testing::ValuesIn(kCases), name_of);

class LeavesAlone : public testing::TestWithParam<Case> {};

TEST_P(LeavesAlone, WhatIsNotTheSame) {
  const std::string text = method(GetParam().before);
  EXPECT_EQ(after(simplify, text), as_printed(text));
}

const Case kNot[] = {
    {"AReluOfARelu", "  %a: f32[2,3] = aten::relu(%x)\n  %y: f32[2,3] = aten::relu(%a)\n", ""},
    {"ACast", "  %y: f64[2,3] = dim_order_ops::_to_dim_order_copy(%x, false, none, f64)\n", ""},
    {"AnotherOrder", "  %y: f32[2,3]{1,0} = dim_order_ops::_clone_dim_order(%x, false, [1, 0])\n", ""},
    {"AZeroThatBroadcasts",
     "  %r: f32[3] = aten::select_copy.int(%x, 0, 0)\n  %o: f32[2,3] = const @ones\n"
     "  %y: f32[2,3] = aten::mul.Tensor(%r, %o)\n",
     ""},
    {"AZeroThatPromotes", "  %y: f32[2,3] = aten::add.Scalar(%i, 0.0, 1)\n", ""},
    {"ZeroMinus", "  %z: f32[3] = const @zeros\n  %y: f32[2,3] = aten::sub.Tensor(%z, %x, 1)\n", ""},
    {"OneDividedBy", "  %o: f32[2,3] = const @ones\n  %y: f32[2,3] = aten::div.Tensor(%o, %x)\n", ""},
    {"PartOfASymbolicSlice", "  %y: f32[min(n, 4),3] = aten::slice_copy.Tensor(%n, 0, 0, 4, 1)\n", ""},
    {"AnInputThatIsTheOutput", "  %y: f32[2,3] = aten::clone(%x, none)\n", ""},
};
INSTANTIATE_TEST_SUITE_P(All, LeavesAlone, testing::ValuesIn(kNot), name_of);

TEST(ACopyOfAnInput, StaysWhenItIsTheOutputAndSaysWhy) {
  std::vector<std::string> why;
  after(simplify, "method f(%x: f32[2]) {\n  %y: f32[2] = aten::clone(%x) \"Identity_0\"\n  return %y\n}", &why);
  EXPECT_EQ(why, std::vector<std::string>{"simplify: \"Identity_0\" aten::clone (%y): keep: graph-output"});
}

// Holds row 188.
TEST(AnOutput, KeepsItsNameWhenItsNodeGoes) {
  const std::string now = after(simplify,
                                "method f(%x: f32[2]) {\n  %inner: f32[2] = aten::relu(%x)\n"
                                "  %logits: f32[2] = aten::clone(%inner)\n  return %logits\n}");
  EXPECT_EQ(now, "\nmethod f(%x: f32[2]) {\n  %logits: f32[2] = aten::relu(%x)\n  return %logits\n}\n");
}

TEST(TwoCopiesOfOneValue, AreTwoOutputs) {
  const std::string now = after(simplify,
                                "method f(%x: f32[2]) {\n  %inner: f32[2] = aten::relu(%x)\n"
                                "  %a: f32[2] = aten::clone(%inner)\n  %b: f32[2] = aten::clone(%inner)\n"
                                "  return %a, %b\n}");
  EXPECT_EQ(now,
            "\nmethod f(%x: f32[2]) {\n  %a: f32[2] = aten::relu(%x)\n  %b: f32[2] = aten::clone(%a, none)\n"
            "  return %a, %b\n}\n");
}

// -1 is 3 behind the first view; behind %n it would be 3 * n.
TEST(AViewOfAView, KeepsTheSizesThatTheOneBetweenSaid) {
  EXPECT_EQ(after(simplify, method("  %v: f32[1,3] = aten::view_copy(%n, [1, 3])\n"
                                   "  %y: f32[3] = aten::view_copy(%v, [-1])\n")),
            as_printed(method("  %v: f32[1,3] = aten::view_copy(%n, [1, 3])\n"
                              "  %y: f32[3] = aten::view_copy(%n, [3])\n")));
}

// 3 * n is less than 32, so that nothing is left for the -1 of the first view; behind %n the second would be 3 * n.
TEST(AViewOfAView, StaysWhereTheOneBetweenCannotRun) {
  const std::string text = method(
      "  %v: f32[32,0] = aten::view_copy(%n, [32, -1])\n"
      "  %y: f32[0] = aten::view_copy(%v, [-1])\n");
  EXPECT_EQ(after(simplify, text), as_printed(text));
}

TEST(AViewOfAView, StaysWhereNoNumberSaysItsSize) {
  const std::string text = method(
      "  %v: f32[2,floordiv((n * 3), 2)] = aten::view_copy(%n, [2, -1])\n"
      "  %y: f32[(floordiv((n * 3), 2) * 2)] = aten::view_copy(%v, [-1])\n");
  EXPECT_EQ(after(simplify, text), as_printed(text));
}

TEST(ANodeInARegion, IsSimplifiedToo) {
  const std::string now = after(
      simplify,
      "method f(%c: bool, %x: f32[2]) {\n  %r: f32[2] = berth::if(%c) {\n    ()\n    %a: f32[2] = aten::clone(%x)\n"
      "    %b: f32[2] = aten::neg(%a)\n    yield %b\n  } {\n    ()\n    yield %x\n  }\n  return %r\n}");
  EXPECT_EQ(now.find("clone"), std::string::npos) << now;
  EXPECT_NE(now.find("aten::neg(%x)"), std::string::npos) << now;
}

}  // namespace
}  // namespace berth::passes
