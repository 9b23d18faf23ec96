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

TEST(FuseActivations, FormulasThatAreAlmostActivationsStay) {
  const std::string text = formula(R"(
    %a: f32[3,40] = aten::add.Scalar(%x, 3, 1)
    %h: f32[3,40] = aten::clamp(%a, 0, 5)
    %y: f32[3,40] = aten::div.Scalar(%h, 6)
  )");
  EXPECT_FALSE(is_one_step(text, 23)) << text;
}

}  // namespace
}  // namespace berth::fuse
