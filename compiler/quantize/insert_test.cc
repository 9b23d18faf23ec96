// Which nodes are chosen, and what is written of them, by text.
#include "compiler/quantize/insert.h"

#include <gtest/gtest.h>

#include "base/text_testing.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"

namespace berth::quantize {
namespace {

// The body after all layers were chosen, each value in the range from -1 to 1.55: a scale of about 0.01 and a zero
// point of 100. Without lines of constants; scales in short.
std::string inserted(const std::string& text, size_t* points = nullptr) {
  auto module = ir::parse(text, "test");
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return "";
  ir::Method& method = module->methods[0];
  const Choice choice = choose(*module, method, find_layers(*module, method));
  if (points != nullptr) *points = choice.points.size();
  std::map<ir::ValueId, Range> ranges;
  for (const Point& point : choice.points) ranges[point.value] = {-1, 1.55f};
  const Status done = insert(*module, method, choice, scales_of(choice, ranges, DType::kU8));
  EXPECT_TRUE(done.ok()) << done.error().text();
  const Status sound = ir::verify(*module);
  EXPECT_TRUE(sound.ok()) << sound.error().text();
  ir::PrintOptions options;
  options.elide = true;
  std::string out;
  std::string all = ir::print(*module, options);
  for (size_t at = 0; at < all.size();) {
    const size_t end = all.find('\n', at);
    std::string line = all.substr(at, end - at);
    at = end + 1;
    if (line.find("const @") != std::string::npos) continue;
    for (const char* name : {"quantized_decomposed::", "aten::"}) {
      for (size_t i; (i = line.find(name)) != std::string::npos;) line.erase(i, std::string(name).size());
    }
    for (size_t i; (i = line.find("0.00999999977648258")) != std::string::npos;) line.replace(i, 19, "S");
    out += line + "\n";
  }
  return out;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr char kChain[] = R"(
  const @w: f32[2,1,1,1] = dense<[1.27, -2.54]>
  const @b: f32[2] = dense<[1.0, -1.0]>
  const @v: f32[2,2,1,1] = dense<[1.27, 0.0, 0.0, 1.27]>
  method f(%x: f32[1,1,4,4]) {
    %w: f32[2,1,1,1] = const @w
    %b: f32[2] = const @b
    %v: f32[2,2,1,1] = const @v
    %y: f32[1,2,4,4] = aten::convolution(%x, %w, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %r: f32[1,2,4,4] = aten::relu(%y)
    %m: f32[1,2,2,2], %i: i64[1,2,2,2] = aten::max_pool2d_with_indices(%r, [2, 2], [2, 2])
    %z: f32[1,2,2,2] = aten::convolution(%m, %v, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    return %z
  })";

TEST(Insert, RoundsInputsWeightsAndWhatStandsBetweenLayers) {
  const std::string text = inserted(kChain);
  EXPECT_TRUE(has(text, "%x_q: u8[1,1,4,4] = quantize_per_tensor(%x, ")) << text;
  EXPECT_TRUE(has(text, "dequantize_per_channel(%w_q, %w_scales, none, 0, -128, 127, i8, none)")) << text;
  EXPECT_TRUE(has(text, "%y: f32[1,2,4,4] = convolution(%x_8, %w_8, %w_bias, ")) << text;
  EXPECT_TRUE(has(text, "%r: f32[1,2,4,4] = relu(%y)")) << "the result is rounded behind the function that follows\n"
                                                        << text;
  EXPECT_TRUE(has(text, "%r_q: u8[1,2,4,4] = quantize_per_tensor(%r, ")) << text;
  EXPECT_TRUE(has(text, "max_pool2d_with_indices(%r_8, ")) << text;
  EXPECT_TRUE(has(text, "%z: f32[1,2,2,2] = convolution(%m_8, %v_8, none, ")) << text;
  EXPECT_FALSE(has(text, "%y_q")) << text;
  EXPECT_FALSE(has(text, "%z_q")) << "nothing in 8 bits reads it\n" << text;
}

TEST(Insert, WhatMovesIntegersKeepsTheirScale) {
  auto module = ir::parse(kChain, "test");
  ASSERT_TRUE(module.ok());
  const ir::Method& method = module->methods[0];
  const Choice choice = choose(*module, method, find_layers(*module, method));
  std::map<ir::ValueId, Range> ranges;
  float next = 1;
  for (const Point& point : choice.points) ranges[point.value] = {0, next++};
  const PointScales scales = scales_of(choice, ranges, DType::kI8);
  ASSERT_EQ(choice.points.size(), 3u);
  const auto scale = [&](size_t k) { return scales.at(choice.points[k].value).scale; };
  EXPECT_NE(scale(0), scale(1));
  EXPECT_EQ(scale(1), scale(2)) << "a pooling of the largest takes its input's scale, not its own range's";
}

TEST(Insert, OfASumTheLaterSideIsNotRounded) {
  const std::string text = inserted(R"(
    const @v: f32[2,2,1,1] = dense<[1.0, 0.0, 0.0, 1.0]>
    const @w: f32[2,2,1,1] = dense<[2.0, 0.0, 0.0, 1.0]>
    const @u: f32[2,2,1,1] = dense<[3.0, 0.0, 0.0, 1.0]>
    method f(%x: f32[1,2,2,2]) {
      %v: f32[2,2,1,1] = const @v
      %w: f32[2,2,1,1] = const @w
      %u: f32[2,2,1,1] = const @u
      %a: f32[1,2,2,2] = aten::convolution(%x, %v, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      %p: f32[1,2,2,2] = aten::relu(%a)
      %b: f32[1,2,2,2] = aten::convolution(%p, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      %s: f32[1,2,2,2] = aten::add.Tensor(%b, %p)
      %t: f32[1,2,2,2] = aten::relu(%s)
      %z: f32[1,2,2,2] = aten::convolution(%t, %u, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      return %z
    })");
  EXPECT_TRUE(has(text, "%s: f32[1,2,2,2] = add.Tensor(%b, %p_8, 1)")) << text;
  EXPECT_TRUE(has(text, "quantize_per_tensor(%t, ")) << text;
  EXPECT_FALSE(has(text, "%s_q")) << text;
  EXPECT_TRUE(has(text, "convolution(%t_8, ")) << text;
}

TEST(Insert, FunctionsInSeveralNodesAreNotInterrupted) {
  const std::string text = inserted(R"(
    const @w: f32[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>
    const @v: f32[2,2] = dense<[5.0, 6.0, 7.0, 8.0]>
    method f(%x: f32[3,2]) {
      %w: f32[2,2] = const @w
      %other: f32[2,2] = const @v
      %a: f32[3,2] = aten::mm(%x, %w)
      %v: f32[1,3,2] = aten::view_copy(%a, [1, 3, 2])
      %g: f32[1,3,2] = aten::sigmoid(%v)
      %m: f32[1,3,2] = aten::mul.Tensor(%v, %g)
      %u: f32[3,2] = aten::view_copy(%m, [3, 2])
      %z: f32[3,2] = aten::mm(%u, %other)
      return %z
    })");
  EXPECT_FALSE(has(text, "%a_q")) << text;
  EXPECT_FALSE(has(text, "%g_q")) << text;
  EXPECT_TRUE(has(text, "mul.Tensor(%v, %g)")) << text;
  EXPECT_TRUE(has(text, "quantize_per_tensor(%m, ")) << text;
  EXPECT_TRUE(has(text, "%z: f32[3,2] = mm(%u_8, ")) << text;
}

TEST(Insert, WhatIsReadInF32StaysWhereItIsMadeInF32) {
  // The norm's result is rounded for the product alone, the product's not at all: a softmax reads it.
  const std::string text = inserted(R"(
    const @w: f32[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>
    method f(%x: f32[3,2]) {
      %w: f32[2,2] = const @w
      %n: f32[3,2] = aten::_softmax(%x, 1, false)
      %a: f32[3,2] = aten::mm(%n, %w)
      %s: f32[3,2] = aten::_softmax(%a, 1, false)
      %z: f32[3,2] = aten::add.Tensor(%s, %n)
      return %z
    })");
  EXPECT_TRUE(has(text, "mm(%n_8, ")) << text;
  EXPECT_TRUE(has(text, "_softmax(%a, ")) << text;
  EXPECT_TRUE(has(text, "add.Tensor(%s, %n, 1)")) << text;
}

TEST(Insert, AResultThatIsReadBothWaysIsRoundedForAll) {
  const std::string text = inserted(R"(
    const @w: f32[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>
    const @v: f32[2,2] = dense<[5.0, 6.0, 7.0, 8.0]>
    method f(%x: f32[3,2]) {
      %w: f32[2,2] = const @w
      %other: f32[2,2] = const @v
      %a: f32[3,2] = aten::mm(%x, %w)
      %s: f32[3,2] = aten::_softmax(%a, 1, false)
      %b: f32[3,2] = aten::mm(%a, %other)
      return %s, %b, %a
    })");
  EXPECT_TRUE(has(text, "_softmax(%a_8, ")) << text;
  EXPECT_TRUE(has(text, "mm(%a_8, ")) << text;
  EXPECT_TRUE(has(text, "return %s, %b, %a_8 \"a\"")) << "an output keeps its name\n" << text;
}

TEST(Insert, ProductsOfTwoActivationsAndTransposedConvolutionsAreNotLayers) {
  size_t points = 1;
  inserted(R"(
    const @v: f32[1,1,1,1] = dense<[1.0]>
    method f(%x: f32[2,2], %y: f32[1,1,2,2]) {
      %v: f32[1,1,1,1] = const @v
      %a: f32[2,2] = aten::mm(%x, %x)
      %b: f32[1,1,2,2] = aten::convolution(%y, %v, none, [1, 1], [0, 0], [1, 1], true, [0, 0], 1)
      return %a, %b
    })",
           &points);
  EXPECT_EQ(points, 0u);
}

TEST(Insert, LayersThatShareAWeightShareItsIntegers) {
  const std::string text = inserted(R"(
    const @w: f32[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>
    method f(%x: f32[3,2], %y: f32[3,2]) {
      %w: f32[2,2] = const @w
      %a: f32[3,2] = aten::mm(%x, %w)
      %b: f32[3,2] = aten::mm(%y, %w)
      return %a, %b
    })");
  EXPECT_TRUE(has(text, "mm(%x_8, %w_8)")) << text;
  EXPECT_TRUE(has(text, "mm(%y_8, %w_8)")) << text;
  EXPECT_FALSE(has(text, "%w_q_1")) << text;
}

TEST(Insert, StepsOfARecurrenceAndWhatEntersThemStay) {
  size_t points = 0;
  const std::string text = inserted(R"(
    const @w: f32[2,2] = dense<[1.0, 2.0, 3.0, 4.0]>
    const @i: f32[2,2] = dense<[5.0, 6.0, 7.0, 8.0]>
    const @o: f32[2,2] = dense<[9.0, 6.0, 7.0, 8.0]>
    method f(%h: f32[3,2], %x: f32[3,2]) {
      %w: f32[2,2] = const @w
      %i: f32[2,2] = const @i
      %o: f32[2,2] = const @o
      %e: f32[3,2] = aten::mm(%x, %i)
      %a: f32[3,2] = aten::mm(%h, %w)
      %b: f32[3,2] = aten::add.Tensor(%a, %e)
      %c: f32[3,2] = aten::tanh(%b)
      %d: f32[3,2] = aten::mm(%c, %w)
      %y: f32[3,2] = aten::mm(%d, %o)
      return %y
    })",
                                    &points);
  EXPECT_EQ(points, 1u) << text;
  EXPECT_TRUE(has(text, "%y: f32[3,2] = mm(%d_8, ")) << text;
}

TEST(Insert, ACorrectionGivesAProductABias) {
  auto module = ir::parse(R"(
    const @w: f32[2,2] = dense<[1.27, 0.0, 0.0, 1.27]>
    method f(%x: f32[3,2]) {
      %w: f32[2,2] = const @w
      %a: f32[3,2] = aten::mm(%x, %w) "product"
      %r: f32[3,2] = aten::relu(%a)
      return %r
    })",
                          "test");
  ASSERT_TRUE(module.ok());
  ir::Method& method = module->methods[0];
  const Choice choice = choose(*module, method, find_layers(*module, method));
  ASSERT_EQ(choice.layers.size(), 1u);
  std::map<ir::ValueId, Range> ranges;
  for (const Point& point : choice.points) ranges[point.value] = {0, 2.55f};
  ASSERT_TRUE(
      insert(*module, method, choice, scales_of(choice, ranges, DType::kU8), {{choice.layers[0].node, {0.5f, -0.25f}}})
          .ok());
  ASSERT_TRUE(ir::verify(*module).ok());
  const std::string text = ir::print(*module);
  EXPECT_TRUE(has(text, "%a: f32[3,2] = aten::addmm(%w_bias, %x_8, %w_8, 1, 1) \"product\"")) << text;
  EXPECT_TRUE(has(text, "aten::relu(%a)")) << text;
}

TEST(Insert, WeightsThatAreNotFiniteAreAFailureWithTheLayer) {
  auto module = ir::parse(R"(
    const @w: f32[2,2] = dense<[1.0, inf, 0.0, 1.0]>
    method f(%x: f32[3,2]) {
      %w: f32[2,2] = const @w
      %a: f32[3,2] = aten::mm(%x, %w) "product"
      return %a
    })",
                          "test");
  ASSERT_TRUE(module.ok());
  ir::Method& method = module->methods[0];
  const Choice choice = choose(*module, method, find_layers(*module, method));
  const Status done = insert(*module, method, choice, scales_of(choice, {{method.body.inputs[0], {0, 1}}}, DType::kU8));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().text(), "layer product: has weights that are not finite numbers");
}

}  // namespace
}  // namespace berth::quantize
