// Formulas of activations: those that exporters write are recognised, those that only look alike are not.
#include "compiler/fuse/fuse_activations.h"

#include "base/text_testing.h"
#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

std::string formula(const std::string& nodes) {
  return fused(filled(R"(
    method forward(%x: f32[3,40]) {
      $nodes
      return %y
    })",
                      {{"nodes", nodes}}))
      .text;
}

bool is_one_step(const std::string& text, int op) {
  return text.find("berth::elementwise([%x.in], [" + std::to_string(op) + ", 0, 0, 0], [])") != std::string::npos;
}

TEST(FuseActivations, FormulasOfActivationsAreRecognised) {
  const std::string limited = R"(
    %a: f32[3,40] = aten::add.Scalar(%x, 3, 1)
    %l: f32[3,40] = aten::clamp(%a, 0, none)
    %h: f32[3,40] = aten::clamp(%l, none, 6)
  )";
  EXPECT_TRUE(is_one_step(formula(limited + "%y: f32[3,40] = aten::div.Scalar(%h, 6)"), 23));
  EXPECT_TRUE(is_one_step(formula(limited + R"(
    %m: f32[3,40] = aten::mul.Tensor(%x, %h)
    %y: f32[3,40] = aten::mul.Scalar(%m, 0.16666666666666666)
  )"),
                          24));
  EXPECT_TRUE(is_one_step(formula(R"(
    %s: f32[3,40] = aten::sigmoid(%x)
    %y: f32[3,40] = aten::mul.Tensor(%s, %x)
  )"),
                          22));
  EXPECT_TRUE(is_one_step(formula(R"(
    %d: f32[3,40] = aten::div.Scalar(%x, 1.4142135381698608)
    %e: f32[3,40] = aten::erf(%d)
    %p: f32[3,40] = aten::add.Scalar(%e, 1.0, 1)
    %m: f32[3,40] = aten::mul.Tensor(%x, %p)
    %y: f32[3,40] = aten::mul.Scalar(%m, 0.5)
  )"),
                          25));
  EXPECT_TRUE(is_one_step(formula(R"(
    %q: f32[3,40] = aten::pow.Tensor_Scalar(%x, 3)
    %k: f32[3,40] = aten::mul.Scalar(%q, 0.044715)
    %a: f32[3,40] = aten::add.Tensor(%x, %k, 1)
    %i: f32[3,40] = aten::mul.Scalar(%a, 0.7978845608028654)
    %t: f32[3,40] = aten::tanh(%i)
    %p: f32[3,40] = aten::add.Scalar(%t, 1, 1)
    %h: f32[3,40] = aten::mul.Scalar(%x, 0.5)
    %y: f32[3,40] = aten::mul.Tensor(%h, %p)
  )"),
                          26));
}

// ONNX's HardSwish, where it is written as x * HardSigmoid(x).
std::string line_gate(const std::string& slope, const std::string& offset, const std::string& most) {
  return filled(R"(
    %m: f32[3,40] = aten::mul.Scalar(%x, $slope)
    %a: f32[3,40] = aten::add.Scalar(%m, $offset, 1)
    %h: f32[3,40] = aten::hardtanh(%a, 0.0, $most)
    %y: f32[3,40] = aten::mul.Tensor(%x, %h)
  )",
                {{"slope", slope}, {"offset", offset}, {"most", most}});
}

TEST(FuseActivations, AGateThatIsALineIsHardSwishWhereItIsThatOne) {
  EXPECT_TRUE(is_one_step(formula(line_gate("0.1666666716337204", "0.5", "1.0")), 24));
  EXPECT_FALSE(is_one_step(formula(line_gate("0.2", "0.5", "1.0")), 24));
  EXPECT_FALSE(is_one_step(formula(line_gate("0.1666666716337204", "0.25", "1.0")), 24));
  EXPECT_FALSE(is_one_step(formula(line_gate("0.1666666716337204", "0.5", "2.0")), 24));
}

TEST(FuseActivations, FormulasThatAreAlmostActivationsStay) {
  const std::string text = formula(R"(
    %a: f32[3,40] = aten::add.Scalar(%x, 3, 1)
    %h: f32[3,40] = aten::clamp(%a, 0, 5)
    %y: f32[3,40] = aten::div.Scalar(%h, 6)
  )");
  EXPECT_FALSE(is_one_step(text, 23)) << text;
}

// `test` is a comparison of %x, `slope` one number a column.
std::string prelu(const std::string& test, const std::string& slope, const std::string& kept = "%x") {
  return fused(filled(R"(
    const @w: f32[4] = dense<[$slope]>
    method forward(%x: f32[3,4]) {
      %w: f32[4] = const @w
      %c: bool[3,4] = $test
      %m: f32[3,4] = aten::mul.Tensor(%x, %w)
      %y: f32[3,4] = aten::where.self(%c, $kept, %m)
      return %y
    })",
                      {{"test", test}, {"slope", slope}, {"kept", kept}}))
      .text;
}

// Mish, as importers write it. The fear: a softplus of something else.
TEST(FuseActivations, MishIsOneStep) {
  const auto mish = [](const std::string& above, const std::string& gate) {
    return formula(filled(R"(
      %a: f32[3,40] = aten::abs(%x)
      %n: f32[3,40] = aten::neg(%a)
      %e: f32[3,40] = aten::exp(%n)
      %l: f32[3,40] = aten::log1p(%e)
      %z: f32[3,40] = aten::neg(%x)
      %r: f32[3,40] = aten::relu($above)
      %s: f32[3,40] = aten::add.Tensor(%r, %l, 1)
      %t: f32[3,40] = aten::$gate(%s)
      %y: f32[3,40] = aten::mul.Tensor(%x, %t)
    )",
                          {{"above", above}, {"gate", gate}}));
  };
  EXPECT_TRUE(is_one_step(mish("%x", "tanh"), 39));
  EXPECT_FALSE(is_one_step(mish("%z", "tanh"), 39));
  EXPECT_FALSE(is_one_step(mish("%x", "sigmoid"), 39));
}

// As files of f16 and bf16 have them, with numbers that are rounded to these: 1.4140625 for the root of 2.
std::string narrow_gelu(const std::string& root) {
  return filled(R"(
    %d: $t[3,40] = aten::div.Scalar(%x, $root)
    %e: $t[3,40] = aten::erf(%d)
    %p: $t[3,40] = aten::add.Scalar(%e, 1.0, 1)
    %m: $t[3,40] = aten::mul.Tensor(%x, %p)
    %y: $t[3,40] = aten::mul.Scalar(%m, 0.5)
  )",
                {{"root", root}});
}

TEST(FuseActivations, FormulasOf16BitsAreOneStepThatIsRounded) {
  const auto steps = [](const std::string& type, const std::string& nodes) {
    return fuse_module(
               passes::parsed(filled("method forward(%x: $t[3,40]) {\n" + nodes + "return %y\n}\n", {{"t", type}})), 7,
               2e-2)
        .text;
  };
  const auto is_rounded_step = [](const std::string& text, int op, int last) {
    return text.find("berth::elementwise([%x.in], [" + std::to_string(op) + ", 0, 0, 0, " + std::to_string(last) +
                     ", 1, 0, 0], [])") != std::string::npos;
  };
  const std::string silu = "%s: $t[3,40] = aten::sigmoid(%x)\n%y: $t[3,40] = aten::mul.Tensor(%s, %x)\n";
  EXPECT_TRUE(is_rounded_step(steps("f16", silu), 22, 34));
  EXPECT_TRUE(is_rounded_step(steps("bf16", silu), 22, 35));
  EXPECT_TRUE(is_rounded_step(steps("f16", narrow_gelu("1.4140625")), 25, 34));
  EXPECT_FALSE(is_rounded_step(steps("f16", narrow_gelu("1.421875")), 25, 34));
  EXPECT_TRUE(is_rounded_step(steps("bf16", narrow_gelu("1.4140625")), 25, 35));
  EXPECT_FALSE(is_rounded_step(steps("bf16", narrow_gelu("1.5")), 25, 35));
}

// The product takes them along, and is rounded behind them.
TEST(FuseActivations, ActivationsOf16BitsJoinTheirProducts) {
  const std::string silu = "%s: f16[3,40] = aten::sigmoid(%x)\n%y: f16[3,40] = aten::mul.Tensor(%s, %x)\n";
  const std::string relu6 = "%y: f16[3,40] = aten::hardtanh(%x, 0.0, 6.0)\n";
  for (const auto& [name, nodes] : std::vector<std::pair<std::string, std::string>>{
           {"\"silu\"", silu}, {"\"clamp\", 0.0, 6.0", relu6}, {"\"gelu\"", narrow_gelu("1.4140625")}}) {
    const Fused one = fuse_module(passes::parsed(filled(R"(
      const @w: f16[2,40] = splat<0.5>
      method forward(%i: f16[3,2]) {
        %w: f16[2,40] = const @w
        %x: f16[3,40] = aten::mm(%i, %w)
        $nodes
        return %y
      })",
                                                        {{"nodes", filled(nodes, {{"t", "f16"}})}})),
                                  7, 2e-3);
    EXPECT_EQ(one.operators(), "dim_order_ops::_to_dim_order_copy berth::linear dim_order_ops::_to_dim_order_copy")
        << one.text;
    EXPECT_NE(one.text.find(name), std::string::npos) << one.text;
  }
}

TEST(FuseActivations, AReluWithSlopesIsOneStep) {
  const auto is_step = [](const std::string& text) {
    return text.find("[20, 0, 1, 0], [])") != std::string::npos && text.find("aten::where") == std::string::npos;
  };
  const char* finite = "0.25, -2, 0, 3";
  EXPECT_TRUE(is_step(prelu("aten::gt.Scalar(%x, 0)", finite)));
  EXPECT_TRUE(is_step(prelu("aten::ge.Scalar(%x, 0)", finite)));
  // 0 > 0 is false: 0 times infinity is what the model says.
  EXPECT_TRUE(is_step(prelu("aten::gt.Scalar(%x, 0)", "0.25, inf, 0, 3")));
  // 0 >= 0 keeps the 0.
  EXPECT_FALSE(is_step(prelu("aten::ge.Scalar(%x, 0)", "0.25, inf, 0, 3")));
  EXPECT_FALSE(is_step(prelu("aten::ge.Scalar(%x, 0)", "0.25, nan, 0, 3")));
  EXPECT_FALSE(is_step(prelu("aten::gt.Scalar(%x, 1)", finite)));
  EXPECT_FALSE(is_step(prelu("aten::lt.Scalar(%x, 0)", finite)));
  EXPECT_FALSE(is_step(prelu("aten::gt.Scalar(%x, 0)", finite, "%m")));
}

}  // namespace
}  // namespace berth::fuse
