#include "compiler/passes/fold_batch_norm.h"

#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

std::string norm_method(const std::string& statements, const std::string& outputs = "%y") {
  return R"(
    const @w: f32[4,2,1,1] = dense<[1.0, 2.0, -3.0, 4.0, 0.5, -0.25, 1.5, 0.125]>
    const @b: f32[4] = dense<[0.5, -1.0, 2.0, 0.0]>
    const @gamma: f32[4] = dense<[1.0, 2.0, 0.5, -1.0]>
    const @beta: f32[4] = dense<[0.0, 1.0, -1.0, 0.25]>
    const @mean: f32[4] = dense<[0.1, -0.2, 0.3, 0.0]>
    const @var: f32[4] = dense<[1.0, 0.25, 4.0, 0.01]>
    const @c: f32[1,4,1,1] = dense<[2.0, 0.5, -1.0, 3.0]>
    const @t: f32[4,1,2,2] = dense<[1, 2, 3, 4, -1, -2, -3, -4, 0.5, 0.5, 0.25, 0.25, 1, 0, 0, 1]>
    const @m: f32[3,4] = dense<[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]>
    const @image: f32[1,4,3,3] = splat<2.0>
    const @two: f32[2,1,1] = dense<[3.0, -0.5]>
    const @pixels: f32[3] = dense<[1.0, 2.0, 3.0]>

    method f(%x: f32[1,2,3,3], %z: f32[1,4,3,3], %a: f32[5,3]) {
      %w: f32[4,2,1,1] = const @w
      %b: f32[4] = const @b
      %gamma: f32[4] = const @gamma
      %beta: f32[4] = const @beta
      %mean: f32[4] = const @mean
      %var: f32[4] = const @var
      %c: f32[1,4,1,1] = const @c
      %t: f32[4,1,2,2] = const @t
      %m: f32[3,4] = const @m
      %image: f32[1,4,3,3] = const @image
      %pixels: f32[3] = const @pixels
      %two: f32[2,1,1] = const @two
      )" +
         statements + R"(
      return )" +
         outputs + R"(
    })";
}

const std::string kConv = R"(
  %conv: f32[1,4,3,3] = aten::convolution(%x, %w, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) "Conv"
)";

std::string norm_of(const std::string& input) {
  return "%y: f32[1,4,3,3], %s1: f32[0], %s2: f32[0] = aten::_native_batch_norm_legit_no_training(" + input +
         R"(, %gamma, %beta, %mean, %var, 0.1, 1e-05) "Norm")";
}

size_t nodes_of(const std::string& text) {
  ir::Module module = parsed(text);
  EXPECT_TRUE(fold_batch_norm(module, Options()).ok());
  EXPECT_TRUE(ir::verify(module).ok()) << ir::verify(module).error().text();
  return module.methods[0].body.nodes.size();
}

std::string why_of(const std::string& text) {
  std::vector<std::string> why;
  after(fold_batch_norm, text, &why);
  std::string all;
  for (const std::string& line : why) all += line + "\n";
  return all;
}

struct FoldCase {
  const char* name;
  std::string statements;
  size_t nodes;  // that are left
};

class FoldBatchNormRewriteTest : public testing::TestWithParam<FoldCase> {};

TEST_P(FoldBatchNormRewriteTest, KeepsTheOutputs) {
  const std::string text = norm_method(GetParam().statements);
  EXPECT_EQ(nodes_of(text), GetParam().nodes);
  expect_keeps_outputs(fold_batch_norm, text, 1e-6);
}

const FoldCase kFolds[] = {
    {"IntoAConvolution", kConv + norm_of("%conv"), 1},
    {"IntoOneWithoutBias",
     R"(
      %conv: f32[1,4,3,3] = aten::convolution(%x, %w, none, [1], [0], [1], false, [0], 1)
    )" + norm_of("%conv"),
     1},
    {"IntoATransposedOne", R"(
      %conv: f32[1,4,4,4] = aten::convolution(%z, %t, %b, [1], [0], [1], true, [0], 4)
      %y: f32[1,4,4,4], %s1: f32[0], %s2: f32[0] = aten::_native_batch_norm_legit_no_training(%conv, %gamma, %beta, %mean, %var, 0.1, 1e-05)
    )",
     1},
    {"IntoATransposedOneOfTwoGroups", R"(
      %conv: f32[1,2,4,4] = aten::convolution(%z, %t, none, [1], [0], [1], true, [0], 2)
      %p: f32[1,2,4,4] = aten::mul.Tensor(%conv, %two)
      %y: f32[1,2,4,4] = aten::sub.Tensor(%p, %two)
    )",
     1},
    {"AProductAndASum", kConv + R"(
      %p: f32[1,4,3,3] = aten::mul.Tensor(%conv, %c)
      %y: f32[1,4,3,3] = aten::add.Tensor(%c, %p)
    )",
     1},
    {"ADifferenceAndAQuotient", kConv + R"(
      %p: f32[1,4,3,3] = aten::sub.Tensor(%conv, %c, 2)
      %y: f32[1,4,3,3] = aten::div.Tensor(%p, %c)
    )",
     1},
    {"Numbers", kConv + R"(
      %p: f32[1,4,3,3] = aten::mul.Scalar(%conv, 0.5)
      %y: f32[1,4,3,3] = aten::add.Scalar(%p, 3, 2)
    )",
     1},
    {"AConstantThatIsTheSameEverywhere", kConv + "%y: f32[1,4,3,3] = aten::mul.Tensor(%conv, %c)", 1},
    {"ASumAfterAProductOfMatrices", R"(
      %p: f32[5,4] = aten::mm(%a, %m)
      %y: f32[5,4] = aten::add.Tensor(%p, %b)
    )",
     1},
    {"ANormAfterALinearLayer", R"(
      %p: f32[5,4] = aten::addmm(%b, %a, %m)
      %y: f32[5,4], %s1: f32[0], %s2: f32[0] = aten::_native_batch_norm_legit_no_training(%p, %gamma, none, %mean, %var, 0.1, 0.001)
    )",
     1},
    {"AProductAndASumAfterANormOfAnInput", R"(
      %n: f32[1,4,3,3], %s1: f32[0], %s2: f32[0] = aten::_native_batch_norm_legit_no_training(%z, %gamma, none, %mean, %var, 0.1, 0.001)
      %p: f32[1,4,3,3] = aten::mul.Tensor(%n, %c)
      %y: f32[1,4,3,3] = aten::add.Tensor(%p, %c))",
     1},
    {"ASumBehindAView", R"(
      %p: f32[5,4] = aten::mm(%a, %m)
      %v: f32[1,5,4] = aten::view_copy(%p, [1, 5, 4])
      %y: f32[1,5,4] = aten::add.Tensor(%v, %b))",
     2},
};
std::string name_of_fold(const testing::TestParamInfo<FoldCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, FoldBatchNormRewriteTest, testing::ValuesIn(kFolds), name_of_fold);

TEST(FoldBatchNorm, FoldedWeightsAreExactInDouble) {
  const std::string now = after(fold_batch_norm, norm_method(kConv + norm_of("%conv")));
  // gamma / sqrt(var + eps) in channel 1 is 2 / sqrt(0.25 + 1e-5); -3 and 4 times that, and the bias
  // (-1 + 0.2) * 3.99992000239992 + 1, rounded to float by hand (Python's numpy).
  EXPECT_NE(now.find("-11.99976"), std::string::npos) << now;
  EXPECT_NE(now.find("15.99968"), std::string::npos) << now;
  EXPECT_NE(now.find("-2.199936"), std::string::npos) << now;
}

TEST(FoldBatchNorm, LeavesANormOfAnotherOperator) {
  const std::string text = norm_method(norm_of("%z"));
  EXPECT_EQ(nodes_of(text), 1u);
  EXPECT_EQ(why_of(text), "");
}

struct Stay {
  const char* name;
  std::string statements;
  const char* outputs;
  const char* reason;
};

class FoldBatchNormKeepTest : public testing::TestWithParam<Stay> {};

TEST_P(FoldBatchNormKeepTest, SaysWhyANormStays) {
  const std::string text = norm_method(GetParam().statements, GetParam().outputs);
  EXPECT_NE(why_of(text).find(GetParam().reason), std::string::npos) << why_of(text);
  expect_keeps_outputs(fold_batch_norm, text);
}

const Stay kStays[] = {
    {"WhenTheResultIsReadTwice", kConv + norm_of("%conv"), "%y, %conv", "keep: result-shared"},
    {"WhenTheWeightIsReadTwice", kConv + R"(
      %y2: f32[1,4,3,3] = aten::convolution(%x, %w, none, [1], [0], [1], false, [0], 1)
    )" + norm_of("%conv"),
     "%y, %y2", "keep: weight-shared"},
    {"WhenTheShiftIsNoConstant", kConv + "%y: f32[1,4,3,3] = aten::add.Tensor(%conv, %z)", "%y", "keep: not-constant"},
    {"WhenItDiffersWithinAChannel", kConv + "%y: f32[1,4,3,3] = aten::mul.Tensor(%conv, %pixels)", "%y",
     "keep: not-per-channel"},
    {"WhenItsShapeIsTheImages", kConv + "%y: f32[1,4,3,3] = aten::mul.Tensor(%conv, %image)", "%y",
     "keep: not-per-channel"},
    {"WhenTheProductHasAFactor", R"(
      %p: f32[5,4] = aten::addmm(%b, %a, %m, 1, 2)
      %y: f32[5,4] = aten::add.Tensor(%p, %b)
    )",
     "%y", "keep: no-room"},
    {"WhenAConstantIsDividedByIt", kConv + "%y: f32[1,4,3,3] = aten::div.Tensor(%c, %conv)", "%y", "keep: not-"},
    {"WhenAConstantMinusIt", kConv + "%y: f32[1,4,3,3] = aten::sub.Tensor(%c, %conv)", "%y", "keep: not-"},
};
std::string name_of_stay(const testing::TestParamInfo<Stay>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, FoldBatchNormKeepTest, testing::ValuesIn(kStays), name_of_stay);

TEST(FoldBatchNorm, DoesNothingWithoutFusion) {
  ir::Module module = parsed(norm_method(kConv + norm_of("%conv")));
  Options options;
  options.fusion = false;
  const auto changed = fold_batch_norm(module, options);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(*changed, Changed::kNo);
}

// It looked for the last dimension of what is viewed, which a scalar does not have.
TEST(FoldBatchNorm, LeavesAScalarThatIsViewed) {
  const std::string text = R"(
    const @k: f32[1] = splat<2.0>
    method f(%x: f32[3]) {
      %k: f32[1] = const @k
      %sum: f32[] = aten::sum.dim_IntList(%x, [0], false, none)
      %view: f32[1] = aten::view_copy(%sum, [1])
      %y: f32[1] = aten::mul.Tensor(%view, %k)
      return %y
    })";
  EXPECT_EQ(nodes_of(text), 3u);
  expect_keeps_outputs(fold_batch_norm, text, 0);
}

// 100 * 0.1 - 99 * 0.1 is 0.1000004 in f32: what integers give exactly is scaled when it is summed.
TEST(FoldBatchNorm, LeavesProductsOfIntegersExact) {
  const auto text = [](const char* type, const char* last) {
    return std::string("const @w: f32[2,1] = dense<[100.0, ") + last + R"(]>
      const @s: f32[] = splat<0.1>
      method f(%x: )" +
           type + R"([1,2]) {
        %w: f32[2,1] = const @w
        %s: f32[] = const @s
        %c: f32[1,2] = dim_order_ops::_to_dim_order_copy(%x, false, none, f32)
        %p: f32[1,1] = aten::mm(%c, %w)
        %y: f32[1,1] = aten::mul.Tensor(%p, %s)
        return %y
      })";
  };
  EXPECT_EQ(nodes_of(text("i8", "-99.0")), 3u);
  EXPECT_NE(why_of(text("i8", "-99.0")).find("keep: exact-sum"), std::string::npos);
  EXPECT_EQ(nodes_of(text("i8", "-99.5")), 2u);
  EXPECT_EQ(nodes_of(text("f16", "-99.0")), 2u);
}

}  // namespace
}  // namespace berth::passes
