#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// What PyTorch 2.15 gives.
struct ConvBackwardCase {
  const char* name;
  Shape input, weight, gradient;
  Ints stride, padding, dilation, output_padding;
  bool transposed;
  int64_t groups;
  Values x, w, g, grad_input, grad_weight, grad_bias;
};

const ConvBackwardCase kConvBackwardCases[] = {
    {"2d",
     {1, 2, 3, 3},
     {2, 2, 2, 2},
     {1, 2, 2, 1},
     {2, 1},
     {1, 0},
     {1, 2},
     {0, 0},
     false,
     1,
     {-1.75, -4.25, 0.625, -2.625, -2.875, -0.125, -4, 3.5, 3.375, 2.25, 2.625, -4.75, 1, -2.875, -4.375, -1.5, 4.5,
      3.75},
     {2.375, -2.625, 0.625, 4.375, -2.125, 2.25, 4.625, -3.75, -0.625, 4, -3.125, 3.875, 0.375, -3, 3.625, 4.875},
     {-4.875, -3.5, -2.375, -1.375},
     {4.375, 0, -30.53125, -7.453125, 0, 3.6875, 2.109375, 0, -20.64062, -31.15625, 0, 6.703125, 6.921875, 0, -3.75,
      -21.17188, 0, 6.421875},
     {9.1875, 0.4375, 22.53125, -14.85938, -3.5, 15.3125, -5.71875, 10.03125, 3.609375, 0.171875, 9.65625, -6.125,
      -1.375, 6.015625, -3.28125, 6.125},
     {-8.375, -3.75}},
    {"groups 1d",
     {2, 2, 4},
     {4, 1, 3},
     {2, 4, 2},
     {2},
     {1},
     {1},
     {0},
     false,
     2,
     {-1.5, -0.875, -3.5, -0.875, 4.875, 1.125, 1.75, -4.5, -4.875, -3.125, -2.125, 0.75, -1.375, -1.25, -5, -4.125},
     {1.25, 1.25, 1.125, 4.375, 4.5, 3.75, 0.5, 3.5, 1, -1.25, -5, -5},
     {0.875, -1.625, 1.375, 2, 0.875, -3.25, 3.875, 3, 1.25, -2.75, 4, 4.125, -2.5, 1.75, -3.875, 0.25},
     {7.28125, 12.85938, 6.96875, 5.671875, -16.3125, -23.875, -26.375, -18.25, 19.5625, 31.01562, 15.125, 12.375,
      10.625, 17.4375, 4.875, 0.5},
     {10.01562, 4.125, -5.3125, -14.64062, -37.32812, -12.35938, -5.84375, -6.734375, 11.51562, 3.0625, 28.21875,
      -5.328125},
     {-2.25, 11.5, -3.125, 3.25}},
    {"transposed",
     {1, 2, 2, 2},
     {2, 1, 2, 3},
     {1, 1, 5, 2},
     {2, 1},
     {0, 1},
     {1, 1},
     {1, 0},
     true,
     1,
     {-1.625, 0.875, -2.5, -3.375, 0, -2.375, -3.125, 0.25},
     {0.25, -2.125, -2.5, 1.375, 0.875, -1.125, 2.375, -0.75, -0.125, 3.875, -4.375, -4},
     {4.875, -1, 2.125, 0.125, 0, 3, -3.125, 1, -1.75, -4.25},
     {-6.140625, 6.375, -11.35938, -9.796875, -13.32812, 20.01562, 9.296875, -18.73438},
     {4.265625, -18.92188, -5.875, 12.40625, 1.09375, -2.703125, -11.57812, 3.125, -9.375, -5.828125, 9.71875, -3.125},
     {1}},
    {"transposed groups 1d",
     {1, 4, 3},
     {4, 1, 2},
     {1, 2, 6},
     {2},
     {1},
     {2},
     {1},
     true,
     2,
     {-1.25, 1.75, 0, 4.25, -4.875, 4.125, 1.75, 0.875, -4.25, 1.875, -0.375, 1},
     {3, -3.25, -1.625, 4.375, -3, 1.625, -0.75, 2.375},
     {3.625, -4.75, 4.875, 0.875, -2.625, 4.375, 0, 3.375, -2.875, 3.375, -1.375, -1.625},
     {15.4375, -17.09375, -11.59375, -20.78125, 11.54688, 17.71875, 5.484375, -4.640625, -12.76562, 8.015625, 5.484375,
      -6.390625},
     {-8.3125, 7.46875, 26.76562, -6.40625, -11.39062, 15.76562, 2.109375, 3.4375},
     {6.375, 0.875}},
};

struct Gradients {
  Array input, weight, bias;
};

Outcome backward(const ConvBackwardCase& c, const Array& x, const Array& w, const Array& g, const Arg& mask,
                 const Gradients& to) {
  const Arg sizes = Ints{static_cast<int64_t>(c.grad_bias.size())};
  return run_with(convolution_backward_out,
                  {g, x, w, sizes, c.stride, c.padding, c.dilation, c.transposed, c.output_padding, c.groups, mask,
                   to.input, to.weight, to.bias},
                  3);
}

TEST(ConvolutionBackward, MatchesPyTorchInEveryLayout) {
  for (const ConvBackwardCase& c : kConvBackwardCases) {
    for (const Order& order : orders(c.input.size())) {
      SCOPED_TRACE(c.name);
      const Array x(DType::kF32, c.input, c.x, order);
      const Array w(DType::kF32, c.weight, c.w, order);
      const Array g(DType::kF32, c.gradient, c.g, order);
      const Gradients to = {Array(DType::kF32, c.input, {}, order), Array(DType::kF32, c.weight, {}, order),
                            f32({static_cast<int32_t>(c.grad_bias.size())})};
      const Outcome outcome = backward(c, x, w, g, Arg::truths(true, true, true), to);
      ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
      expect_near(to.input, c.grad_input, 2e-5);
      expect_near(to.weight, c.grad_weight, 2e-5);
      expect_near(to.bias, c.grad_bias);
    }
  }
}

TEST(ConvolutionBackward, SkipsUnrequestedGradients) {
  const ConvBackwardCase& c = kConvBackwardCases[0];
  const Array x = f32(c.input, c.x);
  const Array w = f32(c.weight, c.w);
  const Array g = f32(c.gradient, c.g);
  const Gradients none = {f32({0}), f32({0}), f32({0})};
  EXPECT_EQ(backward(c, x, w, g, Arg::truths(false, false, false), none).error, Error::kOk);
  const Gradients weight = {f32({0}), f32(c.weight), f32({0})};
  EXPECT_EQ(backward(c, x, w, g, Arg::truths(false, true, false), weight).error, Error::kOk);
  expect_near(weight.weight, c.grad_weight, 2e-5);
}

TEST(ConvolutionBackward, AcceptsDoubles) {
  const ConvBackwardCase& c = kConvBackwardCases[2];
  const Gradients to = {Array(DType::kF64, c.input), Array(DType::kF64, c.weight), Array(DType::kF64, {1})};
  const Outcome outcome = backward(c, Array(DType::kF64, c.input, c.x), Array(DType::kF64, c.weight, c.w),
                                   Array(DType::kF64, c.gradient, c.g), Arg::truths(true, true, true), to);
  ASSERT_EQ(outcome.error, Error::kOk);
  expect_near(to.input, c.grad_input, 2e-5);
}

TEST(ConvolutionBackward, OfNoImagesIsZero) {
  ConvBackwardCase c = kConvBackwardCases[0];
  c.input[0] = c.gradient[0] = 0;
  const Gradients to = {f32(c.input), f32(c.weight), f32({2})};
  ASSERT_EQ(backward(c, f32(c.input), f32(c.weight, c.w), f32(c.gradient), Arg::truths(true, true, true), to).error,
            Error::kOk);
  EXPECT_EQ(to.weight.values(), Values(16, 0));
  EXPECT_EQ(to.bias.values(), Values(2, 0));
}

TEST(ConvolutionBackward, RefusesWhatDoesNotFit) {
  const ConvBackwardCase& c = kConvBackwardCases[0];
  const Array x = f32(c.input, c.x);
  const Array w = f32(c.weight, c.w);
  const Gradients to = {f32(c.input), f32(c.weight), f32({2})};
  const Arg all = Arg::truths(true, true, true);
  EXPECT_EQ(backward(c, x, w, f32({1, 2, 2, 2}), all, to).error, Error::kInvalidArgument);
  EXPECT_EQ(backward(c, x, f32({2, 3, 2, 2}), f32(c.gradient), all, to).error, Error::kInvalidArgument);
  EXPECT_EQ(backward(c, x, w, f32(c.gradient), all, {f32({1, 2, 3, 4}), to.weight, to.bias}).error,
            Error::kInvalidArgument);
  EXPECT_EQ(backward(c, x, w, f32(c.gradient), all, {to.input, to.weight, f32({3})}).error, Error::kInvalidArgument);
  EXPECT_EQ(
      backward(c, i64(c.input), i64(c.weight), i64(c.gradient), all, {i64(c.input), i64(c.weight), i64({2})}).error,
      Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
