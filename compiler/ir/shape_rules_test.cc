#include "compiler/ir/shape_rules.h"

#include <gtest/gtest.h>

#include "compiler/ir/builder.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/parse_testing.h"
#include "compiler/ir/print.h"

namespace berth::ir {
namespace {

// What PyTorch 2.15 gives on its meta device for these calls. Parsing holds every result's type against the rules.
constexpr char kTorch[] = R"(
method m(
    %f32_2x3: f32[2,3], %i64_2x3: i64[2,3], %bool_2x3: bool[2,3], %f16_2x3: f16[2,3], %f32_s: f32[],
    %i64_s: i64[], %i32_2x3: i32[2,3], %u8_2x3: u8[2,3], %i8_2x3: i8[2,3], %f64_2x3: f64[2,3], %f64_s: f64[],
    %f32_3: f32[3], %f32_1: f32[1], %bf16_2x3: bf16[2,3], %f32_4x1x3: f32[4,1,3], %f32_2x1: f32[2,1],
    %f32_0x3: f32[0,3], %f32_1x3: f32[1,3], %i64_4x1x3: i64[4,1,3], %bool_4x1x1: bool[4,1,1],
    %bool_3: bool[3], %f32_2x3x4: f32[2,3,4], %f32_2x8x15x13: f32[2,8,15,13], %f32_6x8x3x3: f32[6,8,3,3],
    %f32_8x1x3x3: f32[8,1,3,3], %f32_8: f32[8], %f32_8x5x4x3: f32[8,5,4,3], %f32_2x8x20: f32[2,8,20],
    %f32_4x4x5: f32[4,4,5], %f32_1x2x6x7x8: f32[1,2,6,7,8], %f32_3x2x2x3x1: f32[3,2,2,3,1],
    %f32_3x5x5: f32[3,5,5], %f32_1x1x5x5: f32[1,1,5,5], %f32_3x5: f32[3,5], %f32_5: f32[5],
    %f32_4x2x3: f32[4,2,3], %f32_4x3x6: f32[4,3,6], %f32_4: f32[4], %f32_2x3x4x6: f32[2,3,4,6],
    %f32_10x4: f32[10,4], %i64_2x2x1: i64[2,2,1], %i64_5: i64[5], %i64_5x1: i64[5,1], %i64_6: i64[6],
    %f32_5x3: f32[5,3], %f32_0: f32[0], %f32_3x1: f32[3,1], %f32_7x2: f32[7,2], %f32_1x3x1: f32[1,3,1],
    %f32_1x4x5: f32[1,4,5], %f32_4x6x2: f32[4,6,2], %f32_2x4: f32[2,4]) {
  %r0: f32[2,3] = aten::relu(%f32_2x3)
  %r1: f32[2,3] = aten::exp(%i64_2x3)
  %r2: f32[2,3] = aten::sigmoid(%bool_2x3)
  %r3: bool[2,3] = aten::isnan(%f32_2x3)
  %r4: bool[2,3] = aten::logical_not(%i64_2x3)
  %r5: f16[2,3] = aten::rsqrt(%f16_2x3)
  %r6: f32[2,3] = aten::add.Tensor(%f32_2x3, %f32_3)
  %r7: f32[2,3] = aten::add.Tensor(%i64_2x3, %f32_s)
  %r8: f16[2,3] = aten::add.Tensor(%f16_2x3, %f32_s)
  %r9: f32[2,3] = aten::add.Tensor(%f16_2x3, %f32_1)
  %r10: i32[2,3] = aten::add.Tensor(%i32_2x3, %i64_s)
  %r11: i64[2,3] = aten::add.Tensor(%i32_2x3, %i64_2x3)
  %r12: i16[2,3] = aten::add.Tensor(%u8_2x3, %i8_2x3)
  %r13: i8[2,3] = aten::add.Tensor(%bool_2x3, %i8_2x3)
  %r14: f32[2,3] = aten::add.Tensor(%bf16_2x3, %f16_2x3)
  %r15: f32[2,3] = aten::add.Tensor(%f32_2x3, %f64_s)
  %r16: i64[2,3] = aten::add.Tensor(%bool_2x3, %i64_s)
  %r17: f64[2,3] = aten::add.Tensor(%i32_2x3, %f64_s)
  %r18: f32[4,2,3] = aten::add.Tensor(%f32_4x1x3, %f32_2x1)
  %r19: f32[0,3] = aten::mul.Tensor(%f32_0x3, %f32_1x3)
  %r20: f32[2,3] = aten::add.Scalar(%i64_2x3, 1.5)
  %r21: i8[2,3] = aten::add.Scalar(%i8_2x3, 300)
  %r22: f16[2,3] = aten::add.Scalar(%f16_2x3, 1.5)
  %r23: i64[2,3] = aten::add.Scalar(%bool_2x3, 1)
  %r24: f32[2,3] = aten::div.Tensor(%i64_2x3, %i64_2x3)
  %r25: f32[2,3] = aten::div.Tensor(%f32_2x3, %f32_s)
  %r26: f32[2,3] = aten::div.Tensor_mode(%i64_2x3, %i64_2x3, none)
  %r27: i64[2,3] = aten::div.Tensor_mode(%i64_2x3, %i64_2x3, "floor")
  %r28: f32[2,3] = aten::div.Scalar(%i64_2x3, 2)
  %r29: i64[2,3] = aten::pow.Tensor_Scalar(%i64_2x3, 2)
  %r30: f32[2,3] = aten::pow.Scalar(2.0, %i64_2x3)
  %r31: f32[2,3] = aten::pow.Scalar(2, %f32_2x3)
  %r32: f32[2,3] = aten::atan2(%i64_2x3, %i64_2x3)
  %r33: bool[4,2,3] = aten::gt.Tensor(%f32_2x3, %i64_4x1x3)
  %r34: bool[2,3] = aten::eq.Scalar(%f32_2x3, 1)
  %r35: bool[2,3] = aten::logical_and(%f32_2x3, %bool_2x3)
  %r36: f32[2,3] = aten::clamp(%i64_2x3, 0.5, none)
  %r37: f32[2,3] = aten::clamp(%f32_2x3, 0, 6)
  %r38: f32[2,3] = aten::clamp.Tensor(%f32_2x3, %f32_3, none)
  %r39: f32[2,3] = aten::where.self(%bool_2x3, %f32_2x3, %f32_s)
  %r40: f32[4,2,3] = aten::where.self(%bool_4x1x1, %i64_2x3, %f32_2x3)
  %r41: f32[2,3] = aten::masked_fill.Scalar(%f32_2x3, %bool_3, 0.0)
  %r42: f32[2,4] = aten::amax(%f32_2x3x4, [1], false)
  %r43: f32[] = aten::amax(%f32_2x3x4, [], false)
  %r44: f32[1,3,1] = aten::amax(%f32_2x3x4, [-1, 0], true)
  %r45: i64[2] = aten::sum.dim_IntList(%i64_2x3, [1], false)
  %r46: i64[1,1] = aten::sum.dim_IntList(%bool_2x3, none, true)
  %r47: f64[] = aten::sum.dim_IntList(%f32_2x3, [0, 1], false, f64)
  %r48: f32[2,3,1] = aten::mean.dim(%f32_2x3x4, [-1], true)
  %r49: f32[] = aten::mean(%f32_2x3x4)
  %r50: bool[] = aten::any(%f32_2x3)
  %r51: bool[2] = aten::any.dim(%f32_2x3, 1, false)
  %r52: i64[2,1,4] = aten::argmax(%f32_2x3x4, 1, true)
  %r53: i64[] = aten::argmax(%f32_2x3x4)
  %r54: i64[1,1,1] = aten::argmin(%f32_2x3x4, none, true)
  %r55: i64[2,3] = aten::cumsum(%i32_2x3, 1)
  %r56: f32[2,3,1], %r57: i64[2,3,1] = aten::max.dim(%f32_2x3x4, -1, true)
  %r58: f32[] = aten::min(%f32_2x3x4)
  %r59: i64[3] = aten::prod.dim_int(%i32_2x3, 0, false)
  %r60: f32[] = aten::prod(%f32_2x3)
  %r61: f32[2,2,4], %r62: i64[2,2,4] = aten::topk(%f32_2x3x4, 2, 1)
  %r63: f32[2,3,1] = aten::var.correction(%f32_2x3x4, [2], 1, true)
  %r64: f32[3], %r65: f32[3] = aten::var_mean.correction(%f32_2x3x4, [0, 2], 0, false)
  %r66: f32[2,3] = aten::_softmax(%f32_2x3, -1, false)
  %r67: f16[2,3] = aten::_log_softmax(%f16_2x3, 1, false)
  %r68: f32[2,6,8,7] = aten::convolution(%f32_2x8x15x13, %f32_6x8x3x3, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 1)
  %r69: f32[2,8,15,13] = aten::convolution(%f32_2x8x15x13, %f32_8x1x3x3, %f32_8, [1, 1], [2, 2], [2, 2], false, [0, 0], 8)
  %r70: f32[2,5,31,41] = aten::convolution(%f32_2x8x15x13, %f32_8x5x4x3, none, [2, 3], [1, 0], [1, 1], true, [1, 2], 1)
  %r71: f32[2,4,7] = aten::convolution(%f32_2x8x20, %f32_4x4x5, none, [3], [2], [1], false, [0], 2)
  %r72: f32[1,3,5,4,8] = aten::convolution(%f32_1x2x6x7x8, %f32_3x2x2x3x1, none, [1, 2, 1], [0, 1, 0], [1, 1, 1], false, [0, 0, 0], 1)
  %r73: f32[2,8,8,7], %r74: i64[2,8,8,7] = aten::max_pool2d_with_indices(%f32_2x8x15x13, [3, 3], [2, 2], [1, 1], [1, 1], true)
  %r75: f32[2,8,4,6], %r76: i64[2,8,4,6] = aten::max_pool2d_with_indices(%f32_2x8x15x13, [3, 2], [], [0, 0], [2, 1], false)
  %r77: f32[2,8,8,7] = aten::avg_pool2d(%f32_2x8x15x13, [3, 3], [2, 2], [1, 1], true)
  %r78: f32[2,8,5,5] = aten::avg_pool2d(%f32_2x8x15x13, [2, 2], [3, 3], [0, 0], true)
  %r79: f32[3,1,1] = aten::avg_pool2d(%f32_3x5x5, [5, 5])
  %r80: f32[1,1,2,2], %r81: i64[1,1,2,2] = aten::max_pool2d_with_indices(%f32_1x1x5x5, [2, 2], [4, 4], [1, 1], [1, 1], true)
  %r82: f32[2,8,1,1] = aten::_adaptive_avg_pool2d(%f32_2x8x15x13, [1, 1])
  %r83: f32[2,5] = aten::mm(%f32_2x3, %f32_3x5)
  %r84: f32[2,5] = aten::addmm(%f32_5, %f32_2x3, %f32_3x5)
  %r85: f32[4,2,6] = aten::bmm(%f32_4x2x3, %f32_4x3x6)
  %r86: f32[2,3,4], %r87: f32[2,1,1], %r88: f32[2,1,1] = aten::native_layer_norm(%f32_2x3x4, [3, 4], none, none, 1e-05)
  %r89: f32[2,3,4], %r90: f32[2,3,1], %r91: f32[2,3,1] = aten::native_layer_norm(%f32_2x3x4, [4], %f32_4, %f32_4, 1e-05)
  %r92: f32[2,8,15,13], %r93: f32[2,4], %r94: f32[2,4] = aten::native_group_norm(%f32_2x8x15x13, %f32_8, none, 2, 8, 195, 4, 1e-05)
  %r95: f32[2,2,30,26] = aten::pixel_shuffle(%f32_2x8x15x13, 2)
  %r96: f32[2,12,2,3] = aten::pixel_unshuffle(%f32_2x3x4x6, 2)
  %r97: f32[2,8,30,19] = aten::upsample_nearest2d.vec(%f32_2x8x15x13, none, [2.0, 1.5])
  %r98: f32[2,8,7,9] = aten::upsample_bilinear2d.vec(%f32_2x8x15x13, [7, 9], false, none)
  %r99: f32[2,3,4] = aten::embedding(%f32_10x4, %i64_2x3)
  %r100: f32[2,2,1] = aten::gather(%f32_2x3x4, 1, %i64_2x2x1)
  %r101: f32[5,3,4] = aten::index.Tensor(%f32_2x3x4, [%i64_5])
  %r102: f32[2,5,4] = aten::index.Tensor(%f32_2x3x4, [none, %i64_5])
  %r103: f32[5,6,3] = aten::index.Tensor(%f32_2x3x4, [%i64_5x1, none, %i64_6])
  %r104: f32[2,5,6] = aten::index.Tensor(%f32_2x3x4, [none, %i64_5x1, %i64_6])
  %r105: f32[2,3,5] = aten::index_select(%f32_2x3x4, 2, %i64_5)
  %r106: f32[2,3,4] = aten::scatter.value(%f32_2x3x4, 1, %i64_2x2x1, 1.0)
  %r107: f32[2,3,4] = aten::index_put(%f32_2x3x4, [%i64_5], %f32_s)
  %r108: f32[7,3] = aten::cat([%f32_2x3, %f32_5x3])
  %r109: f32[2,6] = aten::cat([%f32_2x3, %f32_0, %i64_2x3], 1)
  %r110: i64[2,6] = aten::cat([%i32_2x3, %i64_2x3], -1)
  %r111: f32[2,2,3] = aten::stack([%f32_2x3, %f32_2x3], 1)
  %r112: f32[2] = aten::stack([%f32_s, %f32_s])
  %r113: f32[2,3,4] = aten::expand_copy(%f32_3x1, [2, -1, 4])
  %r114: f32[4,2,3] = aten::permute_copy(%f32_2x3x4, [2, 0, 1])
  %r115: f32[2,2,9] = aten::repeat(%f32_2x3, [2, 1, 3])
  %r116: f32[3,2] = aten::t_copy(%f32_2x3)
  %r117: f32[3] = aten::t_copy(%f32_3)
  %r118: f32[4,3,2] = aten::transpose_copy.int(%f32_2x3x4, 0, -1)
  %r119: f32[2,4] = aten::select_copy.int(%f32_2x3x4, 1, -1)
  %r120: f32[2,2,4] = aten::slice_copy.Tensor(%f32_2x3x4, 1, 1, 9223372036854775807, 1)
  %r121: f32[2,3,2] = aten::slice_copy.Tensor(%f32_2x3x4, 2, -3, -1, 1)
  %r122: f32[2,3,2] = aten::slice_copy.Tensor(%f32_2x3x4, 2, none, none, 3)
  %r123: f32[0,3,4] = aten::slice_copy.Tensor(%f32_2x3x4, 0, 5, 1, 1)
  %r124: f32[2,3,2] = aten::narrow_copy(%f32_2x3x4, 2, 1, 2)
  %r125: f32[3,2], %r126: f32[3,2], %r127: f32[1,2] = aten::split_copy.Tensor(%f32_7x2, 3)
  %r128: f32[1,2], %r129: f32[6,2] = aten::split_with_sizes_copy(%f32_7x2, [1, 6])
  %r130: f32[2,4], %r131: f32[2,4], %r132: f32[2,4] = aten::unbind_copy.int(%f32_2x3x4, 1)
  %r133: f32[3] = aten::squeeze_copy.dim(%f32_3x1, 1)
  %r134: f32[3,1] = aten::squeeze_copy.dim(%f32_3x1, 0)
  %r135: f32[3] = aten::squeeze_copy.dims(%f32_1x3x1, [0, 2])
  %r136: f32[2,3,1] = aten::unsqueeze_copy(%f32_2x3, -1)
  %r137: f32[1,2,3] = aten::unsqueeze_copy(%f32_2x3, 0)
  %r138: f32[4,6] = aten::view_copy(%f32_2x3x4, [4, -1])
  %r139: f32[6,4] = aten::view_copy(%f32_2x3x4, [6, 4])
  %r140: f32[1,1] = aten::view_copy(%f32_s, [1, 1])
  %r141: f32[0,3] = aten::view_copy(%f32_0x3, [-1, 3])
  %r142: f32[2,2,7] = aten::constant_pad_nd(%f32_2x3x4, [1, 2, 0, -1])
  %r143: f32[1,6,7] = aten::reflection_pad2d(%f32_1x4x5, [1, 1, 2, 0])
  %r144: f32[2,4] = aten::diagonal_copy(%f32_4x6x2, 1, 0, 1)
  %r145: f32[2,2] = aten::diagonal_copy(%f32_4x6x2, -2, 0, 1)
  %r146: f32[2,2] = aten::glu(%f32_2x4, -1)
  %r147: f32[2,3,4] = aten::flip(%f32_2x3x4, [0, 2])
  %r148: f32[2,3,4] = aten::roll(%f32_2x3x4, [1], [2])
  %r149: f32[2,3] = aten::tril(%f32_2x3, 1)
  %r150: f32[2,3] = aten::clone(%f32_2x3)
  %r151: i64[5] = aten::arange(5, none)
  %r152: f32[3] = aten::arange(2.5, none)
  %r153: i32[3] = aten::arange.start_step(1, 10, 3, i32)
  %r154: f32[4] = aten::arange.start_step(0.0, 1.0, 0.3, none)
  %r155: i64[4] = aten::arange.start_step(10, 0, -3, none)
  %r156: i64[2,3] = aten::full([2, 3], 1, none)
  %r157: f32[2,3] = aten::full([2, 3], 1.0, none)
  %r158: bool[2] = aten::full([2], true, none)
  %r159: f16[] = aten::full([], 1, f16)
  %r160: f32[2,0] = aten::zeros([2, 0], none)
  %r161: i64[3] = aten::ones([3], i64)
  %r162: f32[] = aten::scalar_tensor(1, none)
  return
}
)";

// `call` in a method with symbols n in [1, 8], m in [2, 8] and inputs of interest.
std::string error_of_call(const std::string& call) {
  return error_of(R"(
    symbol n in [1, 8]
    symbol m in [2, 8]
    method f(%n3: f32[n,3], %m3: f32[m,3], %x: f32[2,3], %image: f32[n,3,m,10], %n: f32[n],
    %m: f32[m], %big: f32[(n * 4),6], %i: i64[4], %seven: f32[7,3], %eight: f32[8]) {
  )" + call + R"(
    return
    })");
}

TEST(ShapeRules, MatchPyTorchForEveryFamily) { EXPECT_EQ(error_of(kTorch), ""); }

TEST(ShapeRules, AWrongShapeIsFound) {
  std::string text(kTorch);
  const size_t at = text.find("f32[2,6,8,7] = aten::convolution");
  ASSERT_NE(at, std::string::npos);
  text[at + 4] = '3';
  EXPECT_NE(error_of(text).find("expected the result"), std::string::npos);
}

TEST(ShapeRules, SymbolsFlowThroughArithmeticOfSizes) {
  EXPECT_EQ(error_of_call("%r: f32[n,3] = aten::relu(%n3)"), "");
  EXPECT_EQ(error_of_call("%r: f32[n,3] = aten::add.Tensor(%n3, %n3)"), "");
  EXPECT_EQ(error_of_call("%r: f32[(n + 2),3] = aten::cat([%n3, %x])"), "");
  EXPECT_EQ(error_of_call("%r: f32[(n + m),3] = aten::cat([%n3, %m3])"), "");
  EXPECT_EQ(error_of_call("%r: f32[(n * 3)] = aten::view_copy(%n3, [-1])"), "");
  EXPECT_EQ(error_of_call("%r: f32[n,4,6] = aten::view_copy(%big, [n, -1, 6])"), "");
  EXPECT_EQ(error_of_call("%r: f32[3,(n * 8)] = aten::view_copy(%big, [3, -1])"), "");
  EXPECT_EQ(error_of_call("%r: f32[n,24] = aten::view_copy(%big, [-1, 24])"), "");
  EXPECT_EQ(error_of_call("%r: f32[n,3,floordiv(m, 2),5] = aten::avg_pool2d(%image, [2, 2])"), "");
  EXPECT_EQ(error_of_call("%r: f32[(n * 2),3] = aten::repeat(%n3, [2, 1])"), "");
  EXPECT_EQ(error_of_call("%r: f32[(m + -1),3] = aten::slice_copy.Tensor(%m3, 0, 1)"), "");
  EXPECT_EQ(error_of_call("%r: f32[max((n + -2), 0),3] = aten::slice_copy.Tensor(%n3, 0, -9223372036854775808, -2)"),
            "");
  EXPECT_EQ(error_of_call("%r: i64[n] = aten::arange(n)"), "");
}

TEST(ShapeRules, SymbolsFlowIntoSizesThatDependOnContents) {
  EXPECT_EQ(error_of(R"(
    symbol k in [0, 4]
    method f(%i: i64[4]) {
      %r: i64[k,1] = aten::nonzero(%i)
      return
    })"),
            "");
  Module module;
  module.methods.emplace_back();
  Method& method = module.methods[0];
  TensorType type;
  type.shape = {Dim(2), Dim(3)};
  const ValueId x = method.add_input(type, "x");
  Builder build(module, method, method.body);
  const auto places = build.one(OpId::nonzero_out, {x}, "");
  ASSERT_TRUE(places.ok());
  const TensorType& result = method.tensor(*places);
  EXPECT_EQ(print(Type(result), module.symbols), "i64[nz_x,2]");
  EXPECT_EQ(module.symbols.upper(result.shape[0]), 6);
}

TEST(ShapeRules, ASymbolThatMayBeOneIsNotAnotherSymbol) {
  EXPECT_NE(error_of_call("%r: f32[n] = aten::add.Tensor(%n, %m)").find("found sizes n and m"), std::string::npos);
  EXPECT_NE(error_of_call("%r: f32[8] = aten::add.Tensor(%n, %eight)").find("lower bound of 2"), std::string::npos);
  // m is at least 2, so it can only be 8; the range says that a size of 9 and more is none of n's.
  EXPECT_EQ(error_of_call("%r: f32[8] = aten::add.Tensor(%m, %eight)"), "");
  EXPECT_NE(error_of_call("%r: f32[7,3] = aten::add.Tensor(%seven, %x)").find("equal or 1, found sizes 7 and 2"),
            std::string::npos);
}

struct RefusedCall {
  const char* call;
  const char* message;
};

class ShapeRulesRefusalTest : public testing::TestWithParam<RefusedCall> {};

TEST_P(ShapeRulesRefusalTest, SayWhatWasExpectedAndFound) {
  EXPECT_NE(error_of_call(GetParam().call).find(GetParam().message), std::string::npos)
      << error_of_call(GetParam().call);
}

const RefusedCall kRefusedCalls[] = {
    {"%r: f32[1] = aten::mm(%x, %x)", "expected equal inner sizes, found 3 and 2"},
    {"%r: f32[1] = aten::mm(%n, %x)", "expected a left matrix of 2 dimensions, found f32[n]"},
    {"%r: f32[1] = aten::view_copy(%x, [4, -1])", "as many elements as the input, found [4,1] for f32[2,3]"},
    {"%r: f32[1] = aten::view_copy(%x, [-1, -1])", "at most one size -1"},
    {"%r: f32[1] = aten::view_copy(%x, [0, -1])", "leaves the size -1 open"},
    {"%r: f32[1] = aten::view_copy(%x, [4294967296, 4294967296, 4])", "more than 2^63 elements"},
    {"%r: f32[1] = aten::split_copy.Tensor(%x, 0)", "a split size of at least 1, found 0"},
    {"%r: f32[1] = aten::slice_copy.Tensor(%x, 0, 0, 1, 0)", "a step of at least 1, found 0"},
    {"%r: f32[1] = aten::permute_copy(%x, [0, 0])", "found dimension 0 twice"},
    {"%r: f32[1] = aten::permute_copy(%x, [0, 7])", "between -2 and 1, found 7"},
    {"%r: f32[1] = aten::avg_pool2d(%image, [0, 1])", "'kernel_size' between 1 and"},
    {"%r: f32[1] = aten::avg_pool2d(%image, [3, 3], [0, 1])", "'stride' between 1 and"},
    {"%r: f32[1] = aten::avg_pool2d(%image, [20, 3])", "expected a window of at most 8"},
    {"%r: f32[1] = aten::arange.start_step(0, 10, 0)", "a step other than 0"},
    {"%r: f32[1] = aten::arange(1e30)", "at most 2147483647 numbers"},
    {"%r: f32[1] = aten::full([9223372036854775807, 2], 1)", "sizes between 0 and 2147483647"},
    {"%r: f32[1] = aten::full([-1], 1)", "sizes between 0 and"},
    {"%r: f32[1] = aten::full([2], 1, 77)", "expected a dtype, found the number 77"},
    {"%r: f32[1] = aten::clone(%x, 7)", "memory format contiguous (0) or preserve (1), found 7"},  // Holds row 224.
    {"%r: f32[1] = aten::pixel_shuffle(%image, 0)", "whose square divides"},
    {"%r: f32[1] = aten::expand_copy(%x, [5, 3])", "that f32[2,3] can be repeated to, found [5,3]"},
    {"%r: f32[1] = aten::index.Tensor(%x, [%x])", "indices of i64 or i32, found f32[2,3]"},
    {"%r: f32[1] = aten::native_group_norm(%image, none, none, n, 3, (m * 10), 0, 1e-05)", "'group' to divide"},
    {"%r: f32[1] = aten::squeeze_copy.dim(%n3, 0)", "known to be 1 or not, found n"},
    {"%r: f32[1] = aten::mean.dim(%i, [0])", "expected a floating type, found i64[4]"},
};

INSTANTIATE_TEST_SUITE_P(All, ShapeRulesRefusalTest, testing::ValuesIn(kRefusedCalls));

}  // namespace
}  // namespace berth::ir
