#include "compiler/passes/fold_batch_norm.h"

#include "compiler/passes/testing.h"

namespace berth::passes {
namespace {

constexpr char kConstants[] =
    "const @w: f32[4,2,1,1] = dense<[1.0, 2.0, -3.0, 4.0, 0.5, -0.25, 1.5, 0.125]>\n"
    "const @b: f32[4] = dense<[0.5, -1.0, 2.0, 0.0]>\nconst @gamma: f32[4] = dense<[1.0, 2.0, 0.5, -1.0]>\n"
    "const @beta: f32[4] = dense<[0.0, 1.0, -1.0, 0.25]>\nconst @mean: f32[4] = dense<[0.1, -0.2, 0.3, 0.0]>\n"
    "const @var: f32[4] = dense<[1.0, 0.25, 4.0, 0.01]>\nconst @c: f32[1,4,1,1] = dense<[2.0, 0.5, -1.0, 3.0]>\n"
    "const @t: f32[4,1,2,2] = dense<[1.0, 2.0, 3.0, 4.0, -1.0, -2.0, -3.0, -4.0, 0.5, 0.5, 0.25, 0.25, 1.0, 0.0, 0.0, "
    "1.0]>\n"
    "const @m: f32[3,4] = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]>\n"
    "const @image: f32[1,4,3,3] = splat<2.0>\nconst @two: f32[2,1,1] = dense<[3.0, -0.5]>\nconst @pixels: f32[3] = "
    "dense<[1.0, 2.0, 3.0]>\n";

std::string method(const std::string& statements, const std::string& outputs = "%y") {
  return std::string(kConstants) +
         "method f(%x: f32[1,2,3,3], %z: f32[1,4,3,3], %a: f32[5,3]) {\n  %w: f32[4,2,1,1] = const @w\n"
         "  %b: f32[4] = const @b\n  %gamma: f32[4] = const @gamma\n  %beta: f32[4] = const @beta\n"
         "  %mean: f32[4] = const @mean\n  %var: f32[4] = const @var\n  %c: f32[1,4,1,1] = const @c\n"
         "  %t: f32[4,1,2,2] = const @t\n  %m: f32[3,4] = const @m\n  %image: f32[1,4,3,3] = const @image\n"
         "  %pixels: f32[3] = const @pixels\n  %two: f32[2,1,1] = const @two\n" +
         statements + "  return " + outputs + "\n}\n";
}

#define CONV \
  "  %conv: f32[1,4,3,3] = aten::convolution(%x, %w, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) \"Conv\"\n"
#define NORM(input) \
  "  %y: f32[1,4,3,3], %s1: f32[0], %s2: f32[0] = aten::_native_batch_norm_legit_no_training(" input \
  ", %gamma, %beta, %mean, %var, 0.1, 1e-05) \"Norm\"\n"

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

struct Case {
  const char* name;
  const char* statements;
  size_t nodes;  // that are left
};

class NormsFold : public testing::TestWithParam<Case> {};

TEST_P(NormsFold, AndKeepTheOutputs) {
  const std::string text = method(GetParam().statements);
  EXPECT_EQ(nodes_of(text), GetParam().nodes);
  expect_keeps_outputs(fold_batch_norm, text, 1e-6);
}

const Case kFolds[] = {
    {"IntoAConvolution", CONV NORM("%conv"), 1},
    {"IntoOneWithoutBias",
     "  %conv: f32[1,4,3,3] = aten::convolution(%x, %w, none, [1], [0], [1], false, [0], 1)\n" NORM("%conv"), 1},
    {"IntoATransposedOne",
     "  %conv: f32[1,4,4,4] = aten::convolution(%z, %t, %b, [1], [0], [1], true, [0], 4)\n"
     "  %y: f32[1,4,4,4], %s1: f32[0], %s2: f32[0] = aten::_native_batch_norm_legit_no_training(%conv, %gamma, %beta, "
     "%mean, %var, 0.1, 1e-05)\n",
     1},
    {"IntoATransposedOneOfTwoGroups",
     "  %conv: f32[1,2,4,4] = aten::convolution(%z, %t, none, [1], [0], [1], true, [0], 2)\n"
     "  %p: f32[1,2,4,4] = aten::mul.Tensor(%conv, %two)\n  %y: f32[1,2,4,4] = aten::sub.Tensor(%p, %two)\n",
     1},
    {"AProductAndASum",
     CONV "  %p: f32[1,4,3,3] = aten::mul.Tensor(%conv, %c)\n  %y: f32[1,4,3,3] = aten::add.Tensor(%c, %p)\n", 1},
    {"ADifferenceAndAQuotient",
     CONV "  %p: f32[1,4,3,3] = aten::sub.Tensor(%conv, %c, 2)\n  %y: f32[1,4,3,3] = aten::div.Tensor(%p, %c)\n", 1},
    {"Numbers",
     CONV "  %p: f32[1,4,3,3] = aten::mul.Scalar(%conv, 0.5)\n  %y: f32[1,4,3,3] = aten::add.Scalar(%p, 3, 2)\n", 1},
    {"AConstantThatIsTheSameEverywhere", CONV "  %y: f32[1,4,3,3] = aten::mul.Tensor(%conv, %c)\n", 1},
    {"ASumAfterAProductOfMatrices", "  %p: f32[5,4] = aten::mm(%a, %m)\n  %y: f32[5,4] = aten::add.Tensor(%p, %b)\n",
     1},
    {"ANormAfterALinearLayer",
     "  %p: f32[5,4] = aten::addmm(%b, %a, %m)\n"
     "  %y: f32[5,4], %s1: f32[0], %s2: f32[0] = aten::_native_batch_norm_legit_no_training(%p, %gamma, none, %mean, "
     "%var, 0.1, 0.001)\n",
     1},
    {"AProductAndASumAfterANormOfAnInput",
     "  %n: f32[1,4,3,3], %s1: f32[0], %s2: f32[0] = aten::_native_batch_norm_legit_no_training(%z, %gamma, none, "
     "%mean, "
     "%var, 0.1, 0.001)\n  %p: f32[1,4,3,3] = aten::mul.Tensor(%n, %c)\n"
     "  %y: f32[1,4,3,3] = aten::add.Tensor(%p, %c)\n",
     1},
    {"ASumBehindAView",
     "  %p: f32[5,4] = aten::mm(%a, %m)\n  %v: f32[1,5,4] = aten::view_copy(%p, [1, 5, 4])\n"
     "  %y: f32[1,5,4] = aten::add.Tensor(%v, %b)\n",
     2},
};
std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, NormsFold, testing::ValuesIn(kFolds), name_of);

TEST(TheFoldedWeights, AreExactInDouble) {
  const std::string now = after(fold_batch_norm, method(CONV NORM("%conv")));
  // gamma / sqrt(var + eps) in channel 1 is 2 / sqrt(0.25 + 1e-5); -3 and 4 times that, and the bias
  // (-1 + 0.2) * 3.99992000239992 + 1, rounded to float by hand (Python's numpy).
  EXPECT_NE(now.find("-11.99976"), std::string::npos) << now;
  EXPECT_NE(now.find("15.99968"), std::string::npos) << now;
  EXPECT_NE(now.find("-2.199936"), std::string::npos) << now;
}

TEST(ANormOfSomethingElse, Stays) {
  const std::string text = method(NORM("%z"));
  EXPECT_EQ(nodes_of(text), 1u);
  EXPECT_EQ(why_of(text), "");
}

struct Stay {
  const char* name;
  const char* statements;
  const char* outputs;
  const char* reason;
};

class NormsStay : public testing::TestWithParam<Stay> {};

TEST_P(NormsStay, AndSayWhy) {
  const std::string text = method(GetParam().statements, GetParam().outputs);
  EXPECT_NE(why_of(text).find(GetParam().reason), std::string::npos) << why_of(text);
  expect_keeps_outputs(fold_batch_norm, text);
}

const Stay kStays[] = {
    {"WhenTheResultIsReadTwice", CONV NORM("%conv"), "%y, %conv", "keep: result-shared"},
    {"WhenTheWeightIsReadTwice",
     CONV "  %y2: f32[1,4,3,3] = aten::convolution(%x, %w, none, [1], [0], [1], false, [0], 1)\n" NORM("%conv"),
     "%y, %y2", "keep: weight-shared"},
    {"WhenTheShiftIsNoConstant", CONV "  %y: f32[1,4,3,3] = aten::add.Tensor(%conv, %z)\n", "%y", "keep: not-constant"},
    {"WhenItDiffersWithinAChannel", CONV "  %y: f32[1,4,3,3] = aten::mul.Tensor(%conv, %pixels)\n", "%y",
     "keep: not-per-channel"},
    {"WhenItsShapeIsTheImages", CONV "  %y: f32[1,4,3,3] = aten::mul.Tensor(%conv, %image)\n", "%y",
     "keep: not-per-channel"},
    {"WhenTheProductHasAFactor",
     "  %p: f32[5,4] = aten::addmm(%b, %a, %m, 1, 2)\n  %y: f32[5,4] = aten::add.Tensor(%p, %b)\n", "%y",
     "keep: no-room"},
    {"WhenAConstantIsDividedByIt", CONV "  %y: f32[1,4,3,3] = aten::div.Tensor(%c, %conv)\n", "%y", "keep: not-"},
    {"WhenAConstantMinusIt", CONV "  %y: f32[1,4,3,3] = aten::sub.Tensor(%c, %conv)\n", "%y", "keep: not-"},
};
std::string name_of_stay(const testing::TestParamInfo<Stay>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, NormsStay, testing::ValuesIn(kStays), name_of_stay);

TEST(WithoutFusion, NothingFolds) {
  ir::Module module = parsed(method(CONV NORM("%conv")));
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
    return std::string("const @w: f32[2,1] = dense<[100.0, ") + last +
           "]>\nconst @s: f32[] = splat<0.1>\nmethod f(%x: " + type + "[1,2]) {\n  %w: f32[2,1] = const @w\n" +
           "  %s: f32[] = const @s\n  %c: f32[1,2] = dim_order_ops::_to_dim_order_copy(%x, false, none, f32)\n" +
           "  %p: f32[1,1] = aten::mm(%c, %w)\n  %y: f32[1,1] = aten::mul.Tensor(%p, %s)\n  return %y\n}";
  };
  EXPECT_EQ(nodes_of(text("i8", "-99.0")), 3u);
  EXPECT_NE(why_of(text("i8", "-99.0")).find("keep: exact-sum"), std::string::npos);
  EXPECT_EQ(nodes_of(text("i8", "-99.5")), 2u);
  EXPECT_EQ(nodes_of(text("f16", "-99.0")), 2u);
}

}  // namespace
}  // namespace berth::passes
