#include "compiler/passes/simplify.h"

#include "base/text_testing.h"
#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

struct SimplifyCase {
  const char* name;
  const char* before;  // statements behind `(%x: f32[2,3], %n: f32[n,3])`; the last result is %y
  const char* after;
};

std::string method(const std::string& statements) {
  return R"(
    symbol n in [1, 8]
    const @zeros: f32[3] = splat<0.0>
    const @ones: f32[2,3] = splat<1.0>
    method forward(%x: f32[2,3], %n: f32[n,3], %i: i64[2,3]) {
      )" +
         statements + R"(
      return %y
    })";
}

class SimplifyRewriteTest : public testing::TestWithParam<SimplifyCase> {};

TEST_P(SimplifyRewriteTest, GivesTheExpectedNodes) {
  const std::string before = method(GetParam().before);
  EXPECT_EQ(after(simplify, before), as_printed(method(GetParam().after)));
  expect_keeps_outputs(simplify, before);
}

// Each ends in a relu, so that the output is not an input.
constexpr char kOnly[] = "%y: f32[2,3] = aten::relu(%x)";
const SimplifyCase kCases[] = {
    {"Clone", R"(
      %a: f32[2,3] = aten::clone(%x, none)
      %y: f32[2,3] = aten::relu(%a)
    )",
     kOnly},
    {"CastToItself", R"(
      %a: f32[2,3] = dim_order_ops::_to_dim_order_copy(%x, false, none, f32)
      %y: f32[2,3] = aten::relu(%a)
    )",
     kOnly},
    {"PlusZero", R"(
      %z: f32[3] = const @zeros
      %a: f32[2,3] = aten::add.Tensor(%x, %z, 1)
      %y: f32[2,3] = aten::relu(%a)
    )",
     kOnly},
    {"ZeroPlus", R"(
      %z: f32[3] = const @zeros
      %a: f32[2,3] = aten::add.Tensor(%z, %x, 1)
      %y: f32[2,3] = aten::relu(%a)
    )",
     kOnly},
    {"TimesOne", R"(
      %o: f32[2,3] = const @ones
      %a: f32[2,3] = aten::mul.Tensor(%o, %x)
      %y: f32[2,3] = aten::relu(%a)
    )",
     kOnly},
    {"DividedByOne", R"(
      %a: f32[2,3] = aten::div.Scalar(%x, 1)
      %y: f32[2,3] = aten::relu(%a)
    )",
     kOnly},
    {"ExpandToItself", R"(
      %a: f32[2,3] = aten::expand_copy(%x, [-1, 3], false)
      %y: f32[2,3] = aten::relu(%a)
    )",
     kOnly},
    {"SliceOfAll", R"(
      %a: f32[2,3] = aten::slice_copy.Tensor(%x, 1, 0, 9223372036854775807, 1)
      %y: f32[2,3] = aten::relu(%a)
    )",
     kOnly},
    {"CatOfOne", R"(
      %a: f32[2,3] = aten::cat([%x], 0)
      %y: f32[2,3] = aten::relu(%a)
    )",
     kOnly},
    {"PadOfNothing", R"(
      %a: f32[2,3] = aten::constant_pad_nd(%x, [0, 0], 0)
      %y: f32[2,3] = aten::relu(%a)
    )",
     kOnly},
    {"ViewOfView", R"(
      %v: f32[6] = aten::view_copy(%x, [-1])
      %a: f32[2,3] = aten::view_copy(%v, [2, 3])
      %y: f32[2,3] = aten::relu(%a)
    )",
     R"(
      %v: f32[6] = aten::view_copy(%x, [-1])
      %y: f32[2,3] = aten::relu(%x)
    )"},
    {"ViewOfUnsqueeze", R"(
      %v: f32[1,2,3] = aten::unsqueeze_copy(%x, 0)
      %a: f32[3,2] = aten::view_copy(%v, [3, 2])
      %y: f32[3,2] = aten::relu(%a)
    )",
     R"(
      %v: f32[1,2,3] = aten::unsqueeze_copy(%x, 0)
      %a: f32[3,2] = aten::view_copy(%x, [3, 2])
      %y: f32[3,2] = aten::relu(%a)
    )"},
    {"PermuteBack", R"(
      %p: f32[3,2] = aten::permute_copy(%x, [1, 0])
      %a: f32[2,3] = aten::permute_copy(%p, [1, 0])
      %y: f32[2,3] = aten::relu(%a)
    )",
     R"(
      %p: f32[3,2] = aten::permute_copy(%x, [1, 0])
      %y: f32[2,3] = aten::relu(%x)
    )"},
    {"PermuteOfTranspose", R"(
      %u: f32[1,2,3] = aten::unsqueeze_copy(%x, 0)
      %p: f32[3,2,1] = aten::transpose_copy.int(%u, 0, -1)
      %y: f32[2,1,3] = aten::permute_copy(%p, [1, 2, 0])
    )",
     R"(
      %u: f32[1,2,3] = aten::unsqueeze_copy(%x, 0)
      %p: f32[3,2,1] = aten::transpose_copy.int(%u, 0, -1)
      %y: f32[2,1,3] = aten::permute_copy(%u, [1, 0, 2])
    )"},
};

std::string name_of_case(const testing::TestParamInfo<SimplifyCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, SimplifyRewriteTest, testing::ValuesIn(kCases), name_of_case);

class SimplifyKeepTest : public testing::TestWithParam<SimplifyCase> {};

TEST_P(SimplifyKeepTest, WhatIsNotTheSameStays) {
  const std::string text = method(GetParam().before);
  EXPECT_EQ(after(simplify, text), as_printed(text));
}

const SimplifyCase kNot[] = {
    {"AReluOfARelu", R"(
      %a: f32[2,3] = aten::relu(%x)
      %y: f32[2,3] = aten::relu(%a)
    )",
     ""},
    {"ACast", "%y: f64[2,3] = dim_order_ops::_to_dim_order_copy(%x, false, none, f64)", ""},
    {"AnotherOrder", "%y: f32[2,3]{1,0} = dim_order_ops::_clone_dim_order(%x, false, [1, 0])", ""},
    {"AZeroThatBroadcasts", R"(
      %r: f32[3] = aten::select_copy.int(%x, 0, 0)
      %o: f32[2,3] = const @ones
      %y: f32[2,3] = aten::mul.Tensor(%r, %o)
    )",
     ""},
    {"AZeroThatPromotes", "%y: f32[2,3] = aten::add.Scalar(%i, 0.0, 1)", ""},
    {"ZeroMinus", R"(
      %z: f32[3] = const @zeros
      %y: f32[2,3] = aten::sub.Tensor(%z, %x, 1)
    )",
     ""},
    {"OneDividedBy", R"(
      %o: f32[2,3] = const @ones
      %y: f32[2,3] = aten::div.Tensor(%o, %x)
    )",
     ""},
    {"PartOfASymbolicSlice", "%y: f32[min(n, 4),3] = aten::slice_copy.Tensor(%n, 0, 0, 4, 1)", ""},
    {"AnInputThatIsTheOutput", "%y: f32[2,3] = aten::clone(%x, none)", ""},
};
INSTANTIATE_TEST_SUITE_P(All, SimplifyKeepTest, testing::ValuesIn(kNot), name_of_case);

TEST(Simplify, LeavesACopyOfAnInputThatIsTheOutputAndSaysWhy) {
  std::vector<std::string> why;
  after(simplify, R"(
    method f(%x: f32[2]) {
      %y: f32[2] = aten::clone(%x) "Identity_0"
      return %y
    })",
        &why);
  EXPECT_EQ(why, std::vector<std::string>{"simplify: \"Identity_0\" aten::clone (%y): keep: graph-output"});
}

// Holds row 188.
TEST(Simplify, AnOutputKeepsItsNameWhenItsNodeIsRemoved) {
  const std::string now = after(simplify, R"(
    method f(%x: f32[2]) {
      %inner: f32[2] = aten::relu(%x)
      %logits: f32[2] = aten::clone(%inner)
      return %logits
    })");
  EXPECT_EQ(now, as_printed(R"(

    method f(%x: f32[2]) {
      %logits: f32[2] = aten::relu(%x)
      return %logits
    }
  )"));
}

TEST(Simplify, LeavesTwoCopiesOfOneValueAsTwoOutputs) {
  const std::string now = after(simplify, R"(
    method f(%x: f32[2]) {
      %inner: f32[2] = aten::relu(%x)
      %a: f32[2] = aten::clone(%inner)
      %b: f32[2] = aten::clone(%inner)
      return %a, %b
    })");
  EXPECT_EQ(now, as_printed(R"(

    method f(%x: f32[2]) {
      %a: f32[2] = aten::relu(%x)
      %b: f32[2] = aten::clone(%a, none)
      return %a, %b
    }
  )"));
}

// -1 is 3 behind the first view; behind %n it would be 3 * n.
TEST(Simplify, AViewOfAViewKeepsTheInnerSizes) {
  EXPECT_EQ(after(simplify, method(R"(
    %v: f32[1,3] = aten::view_copy(%n, [1, 3])
    %y: f32[3] = aten::view_copy(%v, [-1])
  )")),
            as_printed(method(R"(
    %v: f32[1,3] = aten::view_copy(%n, [1, 3])
    %y: f32[3] = aten::view_copy(%n, [3])
  )")));
}

// 3 * n is less than 32, so that nothing is left for the -1 of the first view; behind %n the second would be 3 * n.
TEST(Simplify, LeavesAViewOfAViewWhoseInnerOneCannotRun) {
  const std::string text = method(R"(
    %v: f32[32,0] = aten::view_copy(%n, [32, -1])
    %y: f32[0] = aten::view_copy(%v, [-1])
  )");
  EXPECT_EQ(after(simplify, text), as_printed(text));
}

TEST(Simplify, LeavesAViewOfAViewOfUnknownSize) {
  const std::string text = method(R"(
    %v: f32[2,floordiv((n * 3), 2)] = aten::view_copy(%n, [2, -1])
    %y: f32[(floordiv((n * 3), 2) * 2)] = aten::view_copy(%v, [-1])
  )");
  EXPECT_EQ(after(simplify, text), as_printed(text));
}

// What stacks no rows is empty, and its other sizes are those of this call; what goes around is as it came.
TEST(Simplify, ALoopWithoutTurnsGivesWhatItCarriesAndEmptyStacks) {
  const std::string text = R"(
    symbol n in [1, 8]
    method f(%x: f32[n,3], %t: f32[0,2]) {
      %h: f32[n,3] = aten::relu(%x)
      %a: f32[n,3], %b: f32[n,3], %c: f32[n,3], %s: f32[0,n,3] = berth::scan(0, [%h, %h, %x], [%t]) {
        (%i: f32[n,3], %j: f32[n,3], %k: f32[n,3], %u: f32[2])
        %m: f32[n,3] = aten::neg(%i)
        yield %m, %i, %j, %m
      }
      %r: f32[n,3] = aten::sum.dim_IntList(%s, [0], false)
      return %a, %b, %c, %s, %r
    })";
  EXPECT_EQ(after(simplify, text), as_printed(R"(
    symbol n in [1, 8]

    method f(%x: f32[n,3], %t: f32[0,2]) {
      %a: f32[n,3] = aten::relu(%x)
      %b: f32[n,3] = aten::clone(%a, none)
      %c: f32[n,3] = aten::clone(%x, none)
      %s: f32[0,n,3] = aten::full([0, n, 3], 0, f32)
      %r: f32[n,3] = aten::sum.dim_IntList(%s, [0], false)
      return %a, %b, %c, %s, %r
    }
  )"));
  expect_keeps_outputs(simplify, text);
}

TEST(Simplify, AChoiceThatIsTheSameForAllElementsIsItsSide) {
  const std::string text = R"(
    const @yes: bool[2,1] = dense<[true, true]>
    const @no: bool[2,3] = dense<[false, false, false, false, false, false]>
    const @some: bool[2,1] = dense<[true, false]>
    method f(%x: f32[2,3], %y: f32[2,3], %z: f32[3]) {
      %yes: bool[2,1] = const @yes
      %no: bool[2,3] = const @no
      %some: bool[2,1] = const @some
      %a: f32[2,3] = aten::where.self(%yes, %x, %y)
      %b: f32[2,3] = aten::where.self(%no, %x, %y)
      %c: f32[2,3] = aten::where.self(%some, %x, %y)
      %d: f32[2,3] = aten::where.self(%no, %x, %z)
      %e: f32[2,3] = aten::neg(%a)
      %g: f32[2,3] = aten::exp(%b)
      return %c, %d, %e, %g
    }
  )";
  const std::string now = after(simplify, text);
  EXPECT_EQ(occurrences(now, "aten::where.self("), 2u) << "of both, and of a row that is stretched:\n" << now;
  EXPECT_NE(now.find("aten::neg(%x)"), std::string::npos) << now;
  EXPECT_NE(now.find("aten::exp(%y)"), std::string::npos) << now;
  expect_keeps_outputs(simplify, text);
}

TEST(Simplify, ABatchOfProductsWithOneMatrixIsOneProduct) {
  const std::string text = R"(
    symbol n in [1, 8]
    method f(%x: f32[n,2,3], %w: f32[3,4], %u: f32[1,3,4], %r: f32[1,4], %v: f32[n,3,4]) {
      %a: f32[n,3,4] = aten::expand_copy(%w, [n, 3, 4], false)
      %b: f32[n,3,4] = aten::expand_copy(%u, [n, 3, 4], false)
      %c: f32[n,3,4] = aten::expand_copy(%r, [n, 3, 4], false)
      %p: f32[n,2,4] = aten::bmm(%x, %a)
      %q: f32[n,2,4] = aten::bmm(%x, %b)
      %s: f32[n,2,4] = aten::bmm(%x, %c)
      %t: f32[n,2,4] = aten::bmm(%x, %v)
      return %p, %q, %s, %t
    }
  )";
  const std::string now = after(simplify, text);
  EXPECT_EQ(occurrences(now, "= aten::mm("), 2u) << now;
  EXPECT_EQ(occurrences(now, "= aten::bmm("), 2u) << "a row and a batch of its own:\n" << now;
  expect_keeps_outputs(simplify, text, 1e-6);
}

TEST(Simplify, LeavesALoopThatMayTurn) {
  const std::string text = R"(
    symbol n in [0, 8]
    method f(%x: f32[3], %t: f32[n,3]) {
      %a: f32[3], %s: f32[n,3] = berth::scan(n, [%x], [%t]) { (%i: f32[3], %u: f32[3])
        %m: f32[3] = aten::neg(%i)
        yield %m, %u
      }
      return %a, %s
    })";
  EXPECT_EQ(after(simplify, text), as_printed(text));
}

TEST(Simplify, SimplifiesANodeInARegion) {
  const std::string now = after(simplify, R"(
    method f(%c: bool, %x: f32[2]) {
      %r: f32[2] = berth::if(%c) {
        ()
        %a: f32[2] = aten::clone(%x)
        %b: f32[2] = aten::neg(%a)
        yield %b
      } {
        ()
        yield %x
      }
      return %r
    })");
  EXPECT_EQ(now.find("clone"), std::string::npos) << now;
  EXPECT_NE(now.find("aten::neg(%x)"), std::string::npos) << now;
}

}  // namespace
}  // namespace berth::passes
