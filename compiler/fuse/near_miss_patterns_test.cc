// What looks like something that a pass of this room knows, and is not. The fear: other numbers, or an error, for a
// model that no exporter writes but that is a right one.
#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

TEST(NearMissPatterns, AConstantOfEqualElementsMayDefineTheResultSize) {
  const std::string first = R"(
    const @k: f32[4,5] = splat<0.5>
    method forward(%x: f32[1,5]) {
      %k: f32[4,5] = const @k
  )";
  const Fused one = fused(first + R"(
    %a: f32[4,5] = aten::add.Tensor(%x, %k, 1)
    %b: f32[4,5] = aten::relu(%a)
    %y: f32[4,5] = aten::mul.Tensor(%b, %k)
    return %y
    })");
  EXPECT_EQ(one.operators(), "berth::elementwise") << one.text;
  const Fused both = fused(first + R"(
    %a: f32[4,5] = aten::add.Tensor(%k, %k, 1)
    %b: f32[4,5] = aten::relu(%a)
    %y: f32[4,5] = aten::mul.Tensor(%x, %b)
    return %y
    })");
  EXPECT_EQ(both.operators(), "berth::elementwise") << both.text;
  const Fused ranks = fused(R"(
    const @k: f32[1,1,1] = splat<2.0>
    method forward(%x: f32[3]) {
      %k: f32[1,1,1] = const @k
      %a: f32[1,1,3] = aten::mul.Tensor(%x, %k)
      %y: f32[1,1,3] = aten::tanh(%a)
      return %y
    })");
  EXPECT_EQ(ranks.operators(), "berth::elementwise") << ranks.text;
}

TEST(NearMissPatterns, MinusZeroIsAnotherConstantThanZero) {
  const Fused one = fused(R"(
    method forward(%x: f32[5]) {
      %a: f32[5] = aten::mul.Scalar(%x, 0.0)
      %b: f32[5] = aten::add.Scalar(%a, 1.0, 1)
      %c: f32[5] = aten::div.Scalar(%b, -0.0)
      %y: f32[5] = aten::tanh(%c)
      return %y
    })");
  EXPECT_EQ(one.operators(), "berth::elementwise") << one.text;
}

TEST(NearMissPatterns, ASoftmaxOverTheKeysOfSeveralQueriesIsNotAttention) {
  const std::string scores = R"(
    method forward(%q: f32[3,8], %k: f32[5,8], %v: f32[5,8]) {
      %q1: f32[3,2,4] = aten::view_copy(%q, [3, 2, 4])
      %q2: f32[2,3,4] = aten::permute_copy(%q1, [1, 0, 2])
      %k1: f32[5,2,4] = aten::view_copy(%k, [5, 2, 4])
      %k2: f32[2,4,5] = aten::permute_copy(%k1, [1, 2, 0])
      %v1: f32[5,2,4] = aten::view_copy(%v, [5, 2, 4])
      %v2: f32[2,5,4] = aten::permute_copy(%v1, [1, 0, 2])
      %s: f32[2,3,5] = aten::bmm(%q2, %k2)
  )";
  const std::string end = R"(
    %u: f32[2,3,5] = aten::view_copy(%p, [2, 3, 5])
    %o: f32[2,3,4] = aten::bmm(%u, %v2)
    %y: f32[3,2,4] = aten::permute_copy(%o, [1, 0, 2])
    return %y
    })";
  const Fused joined = fused(scores + R"(
    %w: f32[2,15] = aten::view_copy(%s, [2, 15])
    %p: f32[2,15] = aten::_softmax(%w, -1, false)
  )" + end);
  EXPECT_EQ(joined.operators().find("berth::attention"), std::string::npos) << joined.text;
  const Fused rows = fused(scores + R"(
    %w: f32[6,5] = aten::view_copy(%s, [6, 5])
    %p: f32[6,5] = aten::_softmax(%w, -1, false)
  )" + end);
  EXPECT_EQ(rows.operators(), "berth::attention") << rows.text;
}

TEST(NearMissPatterns, AConcatenationWithOtherTypesOrNothingIsNotSplit) {
  const auto convolved = [](const std::string& inputs) {
    return fused(filled(R"(
      const @w: f32[2,4,1,1] = dense<[1.0, 2.0, -1.0, 0.5, -2.0, 0.5, 1.0, 2.0]>
      method forward($inputs) {
        %w: f32[2,4,1,1] = const @w
        %j: f32[1,4,4,5] = aten::cat([%a, %b], 1)
        %c: f32[1,2,4,5] = aten::convolution(%j, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
        return %c
      })",
                        {{"inputs", inputs}}))
        .operators();
  };
  EXPECT_NE(convolved("%a: f32[1,3,4,5], %b: i64[1,1,4,5]").find("aten::cat"), std::string::npos);
  EXPECT_NE(convolved("%a: f32[1,4,4,5], %b: f32[0]").find("aten::cat"), std::string::npos);
  EXPECT_EQ(convolved("%a: f32[1,3,4,5], %b: f32[1,1,4,5]").find("aten::cat"), std::string::npos);
}

// Views of nothing may have any number of channels.
TEST(NearMissPatterns, AShuffleOfNothingNeedsNoEqualGroups) {
  fused(R"(
    method forward(%a: f32[0,3,4,5], %b: f32[0,3,4,5]) {
      %j: f32[0,6,4,5] = aten::cat([%a, %b], 1)
      %v: f32[0,7,2,4,5] = aten::view_copy(%j, [0, 7, 2, 4, 5])
      %p: f32[0,2,7,4,5] = aten::permute_copy(%v, [0, 2, 1, 3, 4])
      %s: f32[0,6,4,5] = aten::view_copy(%p, [0, 6, 4, 5])
      return %s
    })");
}

// A step of an LSTM of two units on three rows; `input` columns of the input's gate, `rank` dimensions of the output's.
Fused lstm_step(int input, int rank) {
  return fused(filled(R"(
    const @w: f32[2,8] = dense<[0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, -0.8, 0.15, 0.25, -0.35, 0.45, 0.55, -0.65, 0.75, 0.85]>
    method forward(%x: f32[3,8], %h: f32[3,2], %c: f32[3,2]) {
      %w: f32[2,8] = const @w
      %m: f32[3,8] = aten::mm(%h, %w)
      %s: f32[3,8] = aten::add.Tensor(%x, %m, 1)
      %i0: f32[3,$columns] = aten::slice_copy.Tensor(%s, 1, 0, $columns, 1)
      %i: f32[3,$columns] = aten::sigmoid(%i0)
      %f0: f32[3,2] = aten::slice_copy.Tensor(%s, 1, 2, 4, 1)
      %f: f32[3,2] = aten::sigmoid(%f0)
      %g0: f32[3,2] = aten::slice_copy.Tensor(%s, 1, 4, 6, 1)
      %g: f32[3,2] = aten::tanh(%g0)
      %o0: f32[3,2] = aten::slice_copy.Tensor(%s, 1, 6, 8, 1)
      %o1: $gate = aten::view_copy(%o0, $sizes)
      %o: $gate = aten::sigmoid(%o1)
      %kept: f32[3,2] = aten::mul.Tensor(%f, %c)
      %new: f32[3,2] = aten::mul.Tensor(%i, %g)
      %n: f32[3,2] = aten::add.Tensor(%kept, %new, 1)
      %t: f32[3,2] = aten::tanh(%n)
      %y: $gate = aten::mul.Tensor(%o, %t)
      %z: f32[3,2] = aten::mul.Tensor(%n, %h)
      return %y, %z, %n
    })",
                      {{"columns", std::to_string(input)},
                       {"gate", rank == 3 ? "f32[1,3,2]" : "f32[3,2]"},
                       {"sizes", rank == 3 ? "[1, 3, 2]" : "[3, 2]"}}));
}

TEST(NearMissPatterns, AGateThatIsBroadcastOverUnitsIsNotAnLstmStep) {
  const Fused one = lstm_step(1, 2);
  EXPECT_EQ(one.operators().find("berth::lstm_cell"), std::string::npos) << one.text;
}

TEST(NearMissPatterns, ACellOfFewerDimensionsThanTheOutputKeepsThem) {
  EXPECT_EQ(lstm_step(2, 2).operators(), "berth::lstm_cell aten::mul.Tensor");
  EXPECT_EQ(lstm_step(2, 3).operators(), "berth::lstm_cell aten::mul.Tensor");
}

}  // namespace
}  // namespace berth::fuse
