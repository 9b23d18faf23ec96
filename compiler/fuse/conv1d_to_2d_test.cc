// Convolutions over one axis. The fear: a copy where two names of the same bytes would do.
#include "compiler/fuse/conv1d_to_2d.h"

#include "compiler/fuse/fuse_testing.h"

namespace berth::fuse {
namespace {

TEST(Conv1dTo2d, ConvolutionsOverOneAxisBecomeTwoDimensional) {
  const Fused one = fused(with_constants(
      {{"w", {4, 3, 5}}, {"k", {4, 1, 3}}, {"t", {4, 2, 4}}, {"b", {4}}, {"g", {4}}, {"p", {4, 1}}, {"f", {2, 4, 3}}},
      "%x: f32[2,3,12]", R"(
    %c: f32[2,4,6] = aten::convolution(%x, %w, %b, [2], [2], [1], false, [0], 1)
    %r: f32[2,4,6] = aten::gelu(%c)
    %n: f32[2,4,6], %m: f32[2,2], %s: f32[2,2] = aten::native_group_norm(%r, %g, %b, 2, 4, 6, 2, 1e-05)
    %d: f32[2,4,6] = aten::convolution(%n, %k, none, [1], [2], [2], false, [0], 4)
    %a: f32[2,4,6] = aten::add.Tensor(%d, %r, 1)
    %q: f32[2,4,6] = aten::mul.Tensor(%a, %p)
    %j: f32[2,4,9] = aten::cat([%q, %f], 2)
    %e: f32[2,4,4] = aten::slice_copy.Tensor(%j, -1, 5, 9, 1)
    %y: f32[2,2,11] = aten::convolution(%e, %t, none, [3], [1], [1], true, [0], 1)
    return %y
  )"));
  EXPECT_EQ(
      one.operators(),
      "dim_order_ops::_clone_dim_order berth::conv aten::native_group_norm berth::conv aten::mul.Tensor aten::cat "
      "aten::slice_copy.Tensor berth::conv dim_order_ops::_clone_dim_order")
      << one.text;
}

// Of causal convolutions, and of what looks at all points. Without copies to row-major order and back.
TEST(Conv1dTo2d, PaddingAndMaximaGoOnWithImages) {
  const Fused one = fused(with_constants({{"w", {4, 3, 2}}, {"k", {4, 4, 3}}}, "%x: f32[2,3,12]", R"(
    %p: f32[2,3,13] = aten::constant_pad_nd(%x, [1, 0], 0.0)
    %c: f32[2,4,12] = aten::convolution(%p, %w, none, [1], [0], [1], false, [0], 1)
    %e: f32[2,4,18] = aten::constant_pad_nd(%c, [4, 2], -1.5)
    %d: f32[2,4,12] = aten::convolution(%e, %k, none, [1], [0], [3], false, [0], 1)
    %y: f32[2,4] = aten::amax(%d, [-1], false)
    return %y
  )"));
  EXPECT_EQ(
      one.operators(),
      "aten::constant_pad_nd dim_order_ops::_clone_dim_order berth::conv aten::full aten::permute_copy aten::full "
      "aten::permute_copy aten::cat berth::conv aten::max_pool2d_with_indices aten::permute_copy")
      << one.text;
  // Of a part of the signal, and of the channels too: not what images have an operator for.
  const Fused other = fused(with_constants({{"w", {4, 3, 2}}}, "%x: f32[2,3,12]", R"(
    %c: f32[2,4,11] = aten::convolution(%x, %w, none, [1], [0], [1], false, [0], 1)
    %e: f32[2,4,9] = aten::constant_pad_nd(%c, [-3, 1], 0.0)
    %y: f32[2] = aten::amax(%e, [1, 2], false)
    return %y
  )"));
  EXPECT_NE(other.operators().find("aten::amax"), std::string::npos) << other.text;
  EXPECT_NE(other.operators().find("aten::constant_pad_nd"), std::string::npos) << other.text;
}

// With a bias, which has one dimension, and a residual that is a signal.
TEST(Conv1dTo2d, ConvolutionsOfBytesToo) {
  const Fused one = fuse_module(passes::parsed(R"(
  const @w: i8[4,4,3] = dense<[32, -62, 62, -36, 76, 49, 114, 88, 62, 39, 109, 8, -120, 88, -8, 71,
    114, -64, 39, -114, 103, -87, -99, -32, -7, 95, -64, -30, 12, -101, 19, -64, -124, 60, -72, -23,
    -56, -81, 107, 95, 69, -28, -87, 68, 77, -109, -92, 31]>
  const @b: f32[4] = dense<[1.5, -2, 0.25, 3]>
  method forward(%q: u8[1,4,9]) {
    %w: i8[4,4,3] = const @w
    %b: f32[4] = const @b
    %wd: f32[4,4,3] = quantized_decomposed::dequantize_per_tensor(%w, 0.5, 0, -128, 127, i8, none)
    %x: f32[1,4,9] = quantized_decomposed::dequantize_per_tensor(%q, 0.02, 100, 0, 255, u8, none)
    %c: f32[1,4,9] = aten::convolution(%x, %wd, %b, [1], [2], [2], false, [0], 1)
    %d: u8[1,4,9] = quantized_decomposed::quantize_per_tensor(%c, 2.0, 128, 0, 255, u8)
    %e: f32[1,4,9] = quantized_decomposed::dequantize_per_tensor(%d, 2.0, 128, 0, 255, u8, none)
    %r: f32[1,4,9] = aten::leaky_relu(%e, 0.25)
    %s: u8[1,4,9] = quantized_decomposed::quantize_per_tensor(%r, 2.0, 90, 0, 255, u8)
    %t: f32[1,4,9] = quantized_decomposed::dequantize_per_tensor(%s, 2.0, 90, 0, 255, u8, none)
    %f: f32[1,4,9] = aten::convolution(%t, %wd, %b, [1], [2], [2], false, [0], 1)
    %g: u8[1,4,9] = quantized_decomposed::quantize_per_tensor(%f, 60.0, 120, 0, 255, u8)
    %h: f32[1,4,9] = quantized_decomposed::dequantize_per_tensor(%g, 60.0, 120, 0, 255, u8, none)
    %a: f32[1,4,9] = aten::add.Tensor(%h, %e, 1)
    %y: u8[1,4,9] = quantized_decomposed::quantize_per_tensor(%a, 64.0, 125, 0, 255, u8)
    return %y
  })"),
                                7, 0.02);
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_clone_dim_order berth::quantized_conv berth::elementwise berth::quantized_conv "
            "dim_order_ops::_clone_dim_order")
      << one.text;
}

TEST(Conv1dTo2d, SignalsOfAnyLengthToo) {
  const Fused one = fused_at_every_size(
      {{"n", 1, 2}, {"l", 3, 9}}, with_constants({{"w", {4, 3, 3}}, {"k", {4, 1, 3}}, {"b", {4}}}, "%x: f32[n,3,l]", R"(
    %c: f32[n,4,l] = aten::convolution(%x, %w, %b, [1], [1], [1], false, [0], 1)
    %r: f32[n,4,l] = aten::gelu(%c)
    %d: f32[n,4,(floordiv((l + 1), 2) + -1)] = aten::convolution(%r, %k, none, [2], [0], [1], false, [0], 4)
    %e: f32[n,2,(floordiv((l + 1), 2) + -1)] = aten::slice_copy.Tensor(%d, 1, 1, 3, 1)
    %u: f32[n,(floordiv((l + 1), 2) + -1),2] = aten::permute_copy(%e, [0, 2, 1])
    return %u, %r
  )"));
  EXPECT_EQ(one.operators(),
            "dim_order_ops::_clone_dim_order berth::conv dim_order_ops::_clone_dim_order berth::conv "
            "aten::slice_copy.Tensor aten::permute_copy")
      << one.text;
}

TEST(Conv1dTo2d, TokensAndChannelsOfARowAreTwoNamesOfTheSameBytes) {
  const Fused one = fused(with_constants({{"w", {4, 3, 3}}, {"n", {2, 4, 1}}}, "%x: f32[1,9,3]", R"(
    %t: f32[1,3,9] = aten::permute_copy(%x, [0, 2, 1])
    %c: f32[1,4,9] = aten::convolution(%t, %w, none, [1], [1], [1], false, [0], 1)
    %r: f32[1,4,9] = aten::relu(%c)
    %u: f32[1,9,4] = aten::permute_copy(%r, [0, 2, 1])
    %k: f32[1,4,1] = aten::mean.dim(%r, [2], true, none)
    %o: f32[1,4] = aten::mean.dim(%r, [-1], false, none)
    %v: f32[1,2,9] = aten::convolution(%r, %n, none, [1], [0], [1], false, [0], 1)
    %z: f32[1,9,2] = aten::permute_copy(%v, [0, 2, 1])
    return %u, %k, %o, %z
  )"));
  EXPECT_EQ(one.operators(),
            "aten::permute_copy berth::conv aten::permute_copy aten::mean.dim dim_order_ops::_clone_dim_order "
            "aten::mean.dim berth::conv aten::permute_copy")
      << one.text;
}

}  // namespace
}  // namespace berth::fuse
