#include <gtest/gtest.h>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// What PyTorch 2.15 gives: a window of 3 by 2, strides 2 and 1, padding 1 and 0, dilation 1 and 2.
const Values kPooled = {-3.25, -4, 4.5,   0.625, 0.375, -4.875, -0.125, -4.875, -3.375, 1.875,
                        2.25,  0,  -3.25, 2.875, -2.75, 0.5,    -4.75,  -4.625, -3.25,  -2.75};
const Values kMaxima = {2, 3, 2, 10, 13, 9};
const Values kGradient = {-2.125, 0.625, -1.25, 0, 1.875, -1.625};
const Values kWant = {0, 0, -3.375, 0.625, 0, 0, 0, 0, 0, -1.625, 0, 0, 0, 1.875, 0, 0, 0, 0, 0, 0};

Outcome backward(const Array& gradient, const Array& input, const Array& places, const Array& out) {
  return run_with(max_pool2d_with_indices_backward_grad_input,
                  {gradient, input, Ints{3, 2}, Ints{2, 1}, Ints{1, 0}, Ints{1, 2}, false, places, out}, 2);
}

TEST(MaxPoolBackward, MatchesPyTorchInEveryLayout) {
  for (const Order& order : orders(4)) {
    const Array input(DType::kF32, {1, 1, 4, 5}, kPooled, order);
    const Array gradient(DType::kF32, {1, 1, 2, 3}, kGradient, order);
    const Array places(DType::kI64, {1, 1, 2, 3}, kMaxima, order);
    const Array out(DType::kF32, {1, 1, 4, 5}, {}, order);
    const Outcome outcome = backward(gradient, input, places, out);
    ASSERT_EQ(outcome.error, Error::kOk) << outcome.message;
    expect_near(out, kWant);
  }
}

TEST(MaxPoolBackward, AcceptsPlanesWithoutABatchAndHalves) {
  const Array out(DType::kF16, {1, 4, 5});
  ASSERT_EQ(backward(Array(DType::kF16, {1, 2, 3}, kGradient), Array(DType::kF16, {1, 4, 5}, kPooled),
                     i64({1, 2, 3}, kMaxima), out)
                .error,
            Error::kOk);
  expect_near(out, kWant);
}

TEST(MaxPoolBackward, DoesNotWriteOutsideForBadIndices) {
  const Array input = f32({1, 1, 4, 5}, kPooled);
  const Array gradient = f32({1, 1, 2, 3}, kGradient);
  for (const double place : {-1.0, 20.0, 1e15}) {
    Values places = kMaxima;
    places[4] = place;
    const Array out = f32({1, 1, 4, 5});
    EXPECT_EQ(backward(gradient, input, i64({1, 1, 2, 3}, places), out).error, Error::kInvalidArgument);
    EXPECT_TRUE(out.intact());
  }
}

TEST(MaxPoolBackward, RefusesWhatDoesNotFit) {
  const Array input = f32({1, 1, 4, 5});
  const Array places = i64({1, 1, 2, 3}, kMaxima);
  EXPECT_EQ(backward(f32({1, 1, 2, 4}), input, places, input).error, Error::kInvalidArgument);
  EXPECT_EQ(backward(f32({1, 1, 2, 3}), input, i64({1, 1, 3, 2}), input).error, Error::kInvalidArgument);
  EXPECT_EQ(backward(f32({1, 1, 2, 3}), input, i32({1, 1, 2, 3}), input).error, Error::kInvalidArgument);
  EXPECT_EQ(backward(f32({1, 1, 2, 3}), input, places, f32({1, 1, 4, 4})).error, Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
