// The shape rules of quantised numbers, gradients, masks, windows and random numbers.
#include <gtest/gtest.h>

#include "base/text_testing.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/parse_testing.h"
#include "compiler/ir/print.h"

namespace berth::ir {
namespace {

// What PyTorch 2.15 gives on its meta device for these calls. Parsing holds every result's type against the rules.
constexpr char kMoreOfTorch[] = R"(
symbol n in [2, 8]
symbol k in [0, 24]
method m(%x: f32[2,3], %q: i8[2,3], %u: u8[4,8], %one: f32[1], %whole: i64[1], %three: f64[3], %three_i: i64[3],
    %rows: f64[2,1], %rows_i: i64[2,1], %half: f16[2,3], %image: f32[2,4,5,6], %grid: f32[2,7,8,2], %w: f32[6,4,3,3],
    %g: f32[2,6,3,4], %i: i64[2,4,2,3], %g4: f32[2,4,2,3], %a: f32[5,1,7,3], %b: f32[4,2,3], %n3: f32[n,3],
    %mask: bool[n,3], %column: bool[n,1], %c: c64[2,3], %c4: f32[4], %scales: f32[4], %groups: f16[4,2],
    %tokens: i64[n,2], %wide: f32[2,8], %s: f32[], %image4: f32[4,4]) {
  %r0: i8[2,3] = quantized_decomposed::quantize_per_tensor(%x, 0.5, 1, -128, 127, i8)
  %r1: u8[2,3] = quantized_decomposed::quantize_per_tensor.tensor(%x, %one, %whole, 0, 255, u8)
  %r2: i16[2,3] = quantized_decomposed::quantize_per_channel(%half, %three, %three_i, 1, -128, 127, i16)
  %r3: i8[2,3] = quantized_decomposed::quantize_per_token(%x, %rows, %rows_i, -128, 127, i8)
  %r4: f32[2,3] = quantized_decomposed::dequantize_per_tensor(%q, 0.5, 1, -128, 127, i8)
  %r5: f16[2,3] = quantized_decomposed::dequantize_per_tensor.tensor(%q, %one, %whole, -128, 127, i8, f16)
  %r6: f64[2,3] = quantized_decomposed::dequantize_per_channel(%q, %three, none, 1, -128, 127, i8, f64)
  %r7: f32[2,3] = quantized_decomposed::dequantize_per_token(%q, %rows, %rows_i, -128, 127, i8, f32)
  %r8: f64[1], %r9: i64[1] = quantized_decomposed::choose_qparams.tensor(%x, -128, 127, 1e-07, i8)
  %r10: f64[2,4,5,1], %r11: i64[2,4,5,1] = quantized_decomposed::choose_qparams_per_token_asymmetric(%image, i8)
  %r12: f32[n,2,8] = quantized_decomposed::embedding_byte(%u, %scales, none, 0, 255, %tokens)
  %r13: f16[n,2,16] = quantized_decomposed::embedding_4bit(%u, %groups, %groups, -8, 7, %tokens)
  %r14: f32[n,2,32] = quantized_decomposed::embedding_2bit.dtype(%u, %groups, none, -2, 1, %tokens, f32)
  %r15: f32[2,4] = quantized_decomposed::mixed_linear(%wide, %u, %scales, none)
  %r16: f32[4,8] = quantized_decomposed::mixed_mm(%image4, %u, %scales, none)
  %r20: f32[2,4,5,6], %r21: f32[6,4,3,3], %r22: f32[6] = aten::convolution_backward(%g, %image, %w, [6], [1, 1], [0, 0], [1, 1], false, [0, 0], 1, [true, true, true])
  %r23: f32[2,4,5,6], %r24: f32[0], %r25: f32[6] = aten::convolution_backward(%g, %image, %w, [6], [1, 1], [0, 0], [1, 1], false, [0, 0], 1, [true, false, true])
  %r26: f32[2,4,5,6] = aten::max_pool2d_with_indices_backward(%g4, %image, [2, 2], [2, 2], [0, 0], [1, 1], false, %i)
  %r27: f32[2,4,5,6], %r28: f32[4], %r29: f32[4] = aten::_native_batch_norm_legit.no_stats(%image, none, none, true, 0.1, 1e-05)
  %r30: f32[2,3], %r31: bool[2,3] = aten::native_dropout(%x, 0.5, true)
  %r32: f32[5,4,7,2] = aten::_cdist_forward(%a, %b, 2.0, none)
  %r33: f32[1] = aten::_pdist_forward(%x)
  %r34: f32[2,4,7,8] = aten::grid_sampler_2d(%image, %grid, 0, 0, false)
  %r35: f32[2,4,9,3] = aten::_upsample_bilinear2d_aa(%image, [9, 3], false)
  %r36: f32[n,3] = aten::masked_scatter(%n3, %column, %n3)
  %r37: f32[k] = aten::masked_select(%n3, %mask)
  %r38: i64[7] = aten::repeat_interleave.Tensor(%three_i, 7)
  %r51: i64[k] = aten::repeat_interleave.Tensor(%three_i)
  %r39: f32[2,2,2] = aten::unfold_copy(%x, 1, 2, 1)
  %r40: f32[1] = aten::unfold_copy(%s, 0, 1, 1)
  %r41: f32[(n + -1),3,2] = aten::unfold_copy(%n3, 0, 2, 1)
  %r42: f32[2,2] = aten::as_strided_copy(%x, [2, 2], [1, 2], 1)
  %r43: f32[2,3,2] = aten::view_as_real_copy(%c)
  %r44: c64[2,3] = aten::_conj_physical(%c)
  %r45: i64[2,3] = aten::_to_copy(%x, false, none, i64)
  %r46: f32[2,3] = aten::lift_fresh_copy(%x)
  %r47: f64[n,2] = aten::empty.memory_format([n, 2], none, f64)
  %r48: f32[n,2] = dim_order_ops::_empty_dim_order([n, 2], [0, 1])
  %r49: f32[n,2] = aten::rand([n, 2])
  %r50: f16[n] = aten::randn([n], f16)
  return
})";

std::string error_of_more(const std::string& call) {
  return error_of(filled(R"(
    symbol n in [1, 8]
    method f(%x: f32[2,3], %i: i64[4], %mask: bool[2,3], %n3: f32[n,3], %u: u8[4,8], %c4: f32[4]) {
      $call
      return
    })",
                         {{"call", call}}));
}

TEST(ShapeRulesMore, MatchPyTorchForEveryOperator) { EXPECT_EQ(error_of(kMoreOfTorch), ""); }

TEST(ShapeRulesMore, SizesThatDependOnContentsAreNamedAndBounded) {
  Module module;
  module.methods.emplace_back();
  Method& method = module.methods[0];
  TensorType type;
  type.shape = {Dim(2), Dim(3)};
  const ValueId x = method.add_input(type, "x");
  type.dtype = DType::kBool;
  type.shape = {Dim(4), Dim(1), Dim(1)};
  const ValueId mask = method.add_input(type, "mask");
  Builder build(module, method, method.body);
  const auto selected = build.one(OpId::masked_select_out, {x, mask}, "");
  ASSERT_TRUE(selected.ok()) << selected.error().text();
  const TensorType& result = method.tensor(*selected);
  EXPECT_EQ(print(Type(result), module.symbols), "f32[true_mask]");
  EXPECT_EQ(module.symbols.upper(result.shape[0]), 24);
}

struct BadCall {
  const char* call;
  const char* message;
};

class ShapeRulesMoreRefusalTest : public testing::TestWithParam<BadCall> {};

TEST_P(ShapeRulesMoreRefusalTest, SayWhatWasExpectedAndFound) {
  EXPECT_NE(error_of_more(GetParam().call).find(GetParam().message), std::string::npos)
      << error_of_more(GetParam().call);
}

const BadCall kMoreBadCalls[] = {
    {"%r: i8[4] = quantized_decomposed::quantize_per_tensor(%i, 0.5, 1, -128, 127, i8)", "floating-point numbers"},
    {"%r: f16[2,3] = quantized_decomposed::quantize_per_tensor(%x, 0.5, 1, -128, 127, f16)", "an integer dtype"},
    {"%r: f32[4,8] = quantized_decomposed::dequantize_per_tensor(%u, 0.5, 1, 0, 127, i8)", "an input of i8"},
    {"%r: f32[1] = quantized_decomposed::embedding_byte(%x, %c4, none, 0, 255, %i)", "a weight of u8 or i8"},
    {"%r: f32[1] = quantized_decomposed::mixed_linear(%x, %u, %c4, none)", "equal inner sizes, found 3 and 8"},
    {"%r: f32[1] = aten::_native_batch_norm_legit(%n3, none, none, %c4, %c4, true, 0.1, 1e-05)", "values never change"},
    {"%r: f32[1] = aten::masked_select(%x, %x)", "a mask of bool, found f32[2,3]"},
    {"%r: f32[1] = aten::masked_scatter(%x, %mask, %i)", "'source' of f32"},
    {"%r: f32[1] = aten::unfold_copy(%x, 1, 4, 1)", "within the 3 elements of dimension 1, found 1 and 4"},
    {"%r: f32[1] = aten::unfold_copy(%x, 1, 2, 0)", "a step of at least 1"},
    {"%r: f32[1] = aten::as_strided_copy(%x, [2, 2], [1], 0)", "a stride for each size"},
    {"%r: f32[1] = aten::as_strided_copy(%x, [2], [-1], 0)", "at least 0, found -1"},
    {"%r: f32[1] = aten::view_as_real_copy(%x)", "complex numbers, found f32[2,3]"},
    {"%r: f32[1] = aten::_to_copy(%x, false, 3)", "memory format contiguous (0) or preserve (1), found 3"},
    {"%r: f32[1] = dim_order_ops::_empty_dim_order([2, 2], [0])", "a dimension order of 2 dimensions"},
    {"%r: f32[1] = aten::_cdist_forward(%x, %u, 2.0, none)", "equal lengths of rows, found 3 and 8"},
};

INSTANTIATE_TEST_SUITE_P(All, ShapeRulesMoreRefusalTest, testing::ValuesIn(kMoreBadCalls));

}  // namespace
}  // namespace berth::ir
