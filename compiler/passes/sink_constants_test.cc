#include "compiler/passes/sink_constants.h"

#include <gtest/gtest.h>

#include "base/text_testing.h"
#include "compiler/passes/passes_testing.h"

namespace berth::passes {
namespace {

// The module afterwards, as text; verified.
std::string sunk(const std::string& text, bool keep = true) {
  ir::Module module = parsed(text);
  Options options;
  options.keep_quantized = keep;
  EXPECT_TRUE(sink_constants(module, options).ok());
  EXPECT_TRUE(ir::verify(module).ok());
  return ir::print(module);
}

constexpr char kWeights[] = R"(
  const @q: i8[2,2] = dense<[1, -2, 3, 4]>
  const @s: f32[] = dense<[0.5]>
)";

const std::string kBefore = std::string(kWeights) + R"(
  method f(%x: f32[2,2]) {
    %q: i8[2,2] = const @q
    %s: f32[] = const @s
    %c: f32[2,2] = dim_order_ops::_to_dim_order_copy(%q, false, none, f32)
    %w: f32[2,2] = aten::mul.Tensor(%c, %s)
    %a: f32[2,2] = aten::relu(%x)
    %b: f32[2,2] = aten::mm(%a, %w)
    %y: f32[2,2] = aten::mm(%b, %w)
    return %y
  })";

TEST(SinkConstants, PutsAWeightBeforeItsFirstReader) {
  EXPECT_EQ(sunk(kBefore), as_printed(std::string(kWeights) + R"(
  method f(%x: f32[2,2]) {
    %q: i8[2,2] = const @q
    %s: f32[] = const @s
    %a: f32[2,2] = aten::relu(%x)
    %c: f32[2,2] = dim_order_ops::_to_dim_order_copy(%q, false, none, f32)
    %w: f32[2,2] = aten::mul.Tensor(%c, %s)
    %b: f32[2,2] = aten::mm(%a, %w)
    %y: f32[2,2] = aten::mm(%b, %w)
    return %y
  })"));
}

TEST(SinkConstants, LeavesTheOrderWhereNothingIsKept) { EXPECT_EQ(sunk(kBefore, false), as_printed(kBefore)); }

TEST(SinkConstants, LeavesWhatFindsASizeBeforeTheNodesThatTakeIt) {
  const std::string text = R"(
  symbol found in [0, 2]
  const @q: i8[2] = dense<[0, 1]>
  method f(%x: i64[1]) {
    %q: i8[2] = const @q
    %at: i64[found,1] = aten::nonzero(%q)
    %count: i64[1] = aten::full([1], found, i64)
    %y: i64[1] = aten::add.Tensor(%count, %x, 1)
    return %y
  })";
  EXPECT_EQ(sunk(text), as_printed(text));
}

TEST(SinkConstants, KeepsWhatOutputsAloneRead) {
  const std::string text = std::string(kWeights) + R"(
  method f(%x: f32[2,2]) {
    %q: i8[2,2] = const @q
    %c: f32[2,2] = dim_order_ops::_to_dim_order_copy(%q, false, none, f32)
    %a: f32[2,2] = aten::relu(%x)
    return %a, %c
  })";
  EXPECT_NE(sunk(text).find("%c: f32[2,2] = dim_order_ops"), std::string::npos);
}

// A branch that reads a weight in `$reader`, and gives `%t`.
std::string branch(const std::string& reader, const std::string& other) {
  return filled(std::string(kWeights) + R"(
  method f(%x: f32[2,2], %p: bool) {
    %q: i8[2,2] = const @q
    %s: f32[] = const @s
    %c: f32[2,2] = dim_order_ops::_to_dim_order_copy(%q, false, none, f32)
    %w: f32[2,2] = aten::mul.Tensor(%c, %s)
    %a: f32[2,2] = aten::relu(%x)
    %y: f32[2,2] = berth::if(%p) {
      ()
      %b: f32[2,2] = aten::exp(%a)
      %t: f32[2,2] = $reader
      yield %t
    } {
      ()
      yield %a
    }
    %z: f32[2,2] = $other
    return %z
  })",
                {{"reader", reader}, {"other", other}});
}

TEST(SinkConstants, WhatProductsOfOneBodyReadGoesIntoIt) {
  const std::string after = sunk(branch("aten::mm(%b, %w)", "aten::relu(%y)"));
  const size_t body = after.find("aten::exp");
  EXPECT_GT(after.find("dim_order_ops::_to_dim_order_copy"), body) << after;
  EXPECT_GT(after.find("aten::mul.Tensor"), body) << after;
  EXPECT_LT(after.find("aten::mul.Tensor"), after.find("aten::mm")) << after;
}

TEST(SinkConstants, WhatOthersReadTooStaysOutside) {
  const std::string twice = sunk(branch("aten::mm(%b, %w)", "aten::mm(%y, %w)"));
  EXPECT_LT(twice.find("aten::mul.Tensor"), twice.find("berth::if")) << twice;
  const std::string sum = sunk(branch("aten::add.Tensor(%b, %w, 1)", "aten::relu(%y)"));
  EXPECT_LT(sum.find("aten::mul.Tensor"), sum.find("berth::if")) << sum;
}

}  // namespace
}  // namespace berth::passes
