// Dynamic quantisation as the ONNX importer writes it. The fear: other bytes, or a formula that is almost this one.
#include "compiler/fuse/fuse_dynamic_quantize.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

const std::string kFormula = R"(
  %amin: f32[] = aten::amin(%x, [], false)
  %low: f32[] = aten::clamp(%amin, none, 0.0)
  %amax: f32[] = aten::amax(%x, [], false)
  %high: f32[] = aten::clamp(%amax, 0.0, none)
  %range: f32[] = aten::sub.Tensor(%high, %low, 1)
  %steps: f32[] = aten::div.Scalar(%range, 255.0)
  %empty: bool[] = aten::eq.Scalar(%range, 0.0)
  %s: f32[] = aten::masked_fill.Scalar(%steps, %empty, 1.0)
  %below: f32[] = aten::div.Tensor(%low, %s)
  %start: f32[] = aten::neg(%below)
  %held: f32[] = aten::clamp(%start, 0.0, 255.0)
  %rounded: f32[] = aten::round(%held)
  %z: u8[] = dim_order_ops::_to_dim_order_copy(%rounded, false, none, u8)
  %scaled: f32[5,70] = aten::div.Tensor(%x, %s)
  %whole: f32[5,70] = aten::round(%scaled)
  %zero: f32[] = dim_order_ops::_to_dim_order_copy(%z, false, none, f32)
  %sum: f32[5,70] = aten::add.Tensor(%whole, %zero, 1)
  %clamped: f32[5,70] = aten::clamp(%sum, 0.0, 255.0)
  %q: u8[5,70] = dim_order_ops::_to_dim_order_copy(%clamped, false, none, u8)
)";

Fused fused_formula(const std::string& formula, const std::string& results = "%q, %s, %z") {
  return fused("method forward(%x: f32[5,70]) {" + formula + "return " + results + "\n}\n");
}

TEST(FuseDynamicQuantize, IsOneOperatorWithTheSameBytes) {
  EXPECT_EQ(fused_formula(kFormula).operators(), "berth::dynamic_quantize");
  EXPECT_EQ(fused_formula(kFormula, "%q").operators(), "berth::dynamic_quantize");
}

// Two tensors, each with its own.
TEST(FuseDynamicQuantize, EachTensorHasItsRange) {
  std::string other = kFormula;
  for (size_t at = other.find('%'); at != std::string::npos; at = other.find('%', at + 2)) other.insert(at + 1, "o.");
  const Fused two =
      fused("method forward(%x: f32[5,70], %o.x: f32[5,70]) {" + kFormula + other + "return %q, %z, %o.q, %o.s\n}\n");
  EXPECT_EQ(two.operators(), "berth::dynamic_quantize berth::dynamic_quantize") << two.text;
}

TEST(FuseDynamicQuantize, LeavesFormulasThatAreAlmostThis) {
  const std::pair<const char*, const char*> changes[] = {
      {"aten::div.Scalar(%range, 255.0)", "aten::div.Scalar(%range, 254.0)"},
      {"aten::clamp(%amin, none, 0.0)", "aten::clamp(%amin, none, 0.1)"},
      {"aten::clamp(%amax, 0.0, none)", "aten::clamp(%amax, 0.0, 6.0)"},
      {"aten::amax(%x, [], false)", "aten::amin(%x, [], false)"},
      {"masked_fill.Scalar(%steps, %empty, 1.0)", "masked_fill.Scalar(%steps, %empty, 2.0)"},
      {"aten::clamp(%start, 0.0, 255.0)", "aten::clamp(%start, 0.0, 200.0)"},
      {"aten::clamp(%sum, 0.0, 255.0)", "aten::clamp(%sum, 3.0, 255.0)"},
      {"aten::div.Tensor(%low, %s)", "aten::div.Tensor(%high, %s)"},
  };
  for (const auto& [from, to] : changes) {
    std::string formula = kFormula;
    formula.replace(formula.find(from), std::string(from).size(), to);
    const Fused kept = fused_formula(formula);
    EXPECT_EQ(kept.operators().find("dynamic_quantize"), std::string::npos) << to << "\n" << kept.text;
  }
}

}  // namespace
}  // namespace berth::fuse
