// Transposed convolutions of bytes as convolutions of one tap. The fears: a place of the window or a channel with the
// weight of another, a scale or a bias that goes astray, and windows that overlap taken for such that do not.
#include "compiler/fuse/expand_transposed.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

// Bytes with as many values as there are elements, almost.
std::string bytes_constant(const std::string& name, const std::string& type, int count) {
  std::string numbers;
  for (int i = 0; i < count; ++i) numbers += (i == 0 ? "" : ", ") + std::to_string(i * 37 % 255 - 127);
  return "const @" + name + ": " + type + " = dense<[" + numbers + "]>\n";
}

struct Transposed {
  std::string image = "[1,3,4,5]", weight = "[3,2,2,2]", result = "[1,2,8,10]";
  int elements = 24;
  std::string stride = "[2, 2]", padding = "[0, 0]", dilation = "[1, 1]", output_padding = "[0, 0]";
  int groups = 1;
  std::string scale_sizes = "[1,2,1,1]", scale = "[0.5, 0.25]", bias = "%b", source = "%w";
  std::string end = "return %c";
};

Fused fused_transposed(const Transposed& t, double tolerance = 1e-5) {
  const std::string text = filled(
      R"($constant
    const @ws: f32$of_scales = dense<$numbers>
    const @b: f32[2] = dense<[3.25, -17]>
    const @wz: i8[1,2,1,1] = dense<[7, -3]>
    method forward(%x: u8$image_type) {
      %w: i8$kernel_type = const @w
      %ws: f32$of_scales = const @ws
      %b: f32[2] = const @b
      %wz: i8[1,2,1,1] = const @wz
      %xf: f32$image_type = dim_order_ops::_to_dim_order_copy(%x, false, none, f32)
      %xc: f32$image_type = aten::sub.Scalar(%xf, 100.0, 1)
      %xd: f32$image_type = aten::mul.Scalar(%xc, 0.25)
      %wf: f32$kernel_type = dim_order_ops::_to_dim_order_copy(%w, false, none, f32)
      %wd: f32$kernel_type = aten::mul.Tensor(%wf, %ws)
      %wzf: f32[1,2,1,1] = dim_order_ops::_to_dim_order_copy(%wz, false, none, f32)
      $other
      %c: f32$made_type = aten::convolution(%xd, $from, $bias, $stride, $padding, $dilation, true, $more_out, $groups)
      $end
    })",
      {{"constant", bytes_constant("w", "i8" + t.weight, t.elements)},
       {"of_scales", t.scale_sizes},
       {"numbers", t.scale},
       {"image_type", t.image},
       {"kernel_type", t.weight},
       {"made_type", t.result},
       {"from", t.source == "%w" ? "%wd" : "%wo"},
       {"other", t.source == "%w" ? ""
                                  : "%wc: f32" + t.weight + " = aten::sub.Tensor(%wf, %wzf, 1)\n%wo: f32" + t.weight +
                                        " = aten::mul.Tensor(%wc, %ws)"},
       {"bias", t.bias},
       {"stride", t.stride},
       {"padding", t.padding},
       {"dilation", t.dilation},
       {"more_out", t.output_padding},
       {"groups", std::to_string(t.groups)},
       {"end", t.end}});
  return fuse_module(passes::parsed(text), 7, tolerance);
}

bool is_expanded(const Fused& fused) {
  const std::string names = fused.operators();
  return names.find("berth::quantized_conv") != std::string::npos && names.find("berth::conv") == std::string::npos;
}

TEST(ExpandTransposed, EachPlaceHasItsOwnWeight) { EXPECT_TRUE(is_expanded(fused_transposed({}))); }

TEST(ExpandTransposed, WindowsMayBeNarrowAndImagesSeveral) {
  Transposed t;
  t.image = "[2,2,3,4]";
  t.weight = "[2,2,3,2]";
  t.result = "[2,2,9,8]";
  t.stride = "[3, 2]";
  t.bias = "none";
  EXPECT_TRUE(is_expanded(fused_transposed(t)));
  t.scale_sizes = "[1,1,1,1]";
  t.scale = "[0.5]";
  EXPECT_TRUE(is_expanded(fused_transposed(t)));
}

TEST(ExpandTransposed, WeightsMayHaveZeroPoints) {
  Transposed t;
  t.source = "%wz";
  EXPECT_TRUE(is_expanded(fused_transposed(t)));
}

TEST(ExpandTransposed, ARoundedResultIsMovedAsBytes) {
  Transposed t;
  t.end = R"(
      %d: f32[1,2,8,10] = aten::div.Scalar(%c, 16.0)
      %r: f32[1,2,8,10] = aten::round(%d)
      %a: f32[1,2,8,10] = aten::add.Scalar(%r, 90.0, 1)
      %l: f32[1,2,8,10] = aten::clamp(%a, 0.0, 255.0)
      %y: u8[1,2,8,10] = dim_order_ops::_to_dim_order_copy(%l, false, none, u8)
      return %y)";
  const Fused fused = fused_transposed(t, 1.01 / 255);
  EXPECT_TRUE(is_expanded(fused));
  EXPECT_EQ(fused.operators().find("berth::elementwise"), std::string::npos) << fused.operators();
}

TEST(ExpandTransposed, LeavesWindowsThatOverlapOrAreCut) {
  const auto taken = [](auto change) {
    Transposed t;
    change(t);
    return is_expanded(fused_transposed(t));
  };
  EXPECT_FALSE(taken([](Transposed& t) { t.stride = "[1, 2]", t.result = "[1,2,5,10]"; }));
  EXPECT_FALSE(taken([](Transposed& t) { t.padding = "[1, 0]", t.result = "[1,2,6,10]"; }));
  EXPECT_FALSE(taken([](Transposed& t) { t.output_padding = "[0, 1]", t.result = "[1,2,8,11]"; }));
  EXPECT_FALSE(taken([](Transposed& t) { t.dilation = "[1, 2]", t.result = "[1,2,8,11]"; }));
  EXPECT_FALSE(taken([](Transposed& t) {
    t.image = "[1,2,4,5]", t.weight = "[2,1,2,2]", t.elements = 8, t.groups = 2, t.scale_sizes = "[1,1,1,1]",
    t.scale = "[0.5]";
  }));
  // A scale for each channel of the input cannot scale the sums.
  EXPECT_FALSE(taken([](Transposed& t) { t.scale_sizes = "[3,1,1,1]", t.scale = "[0.5, 0.25, 1]"; }));
}

}  // namespace
}  // namespace berth::fuse
