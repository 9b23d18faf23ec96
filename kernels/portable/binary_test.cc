// Operators on two tensors, or a tensor and a number. Expected values are PyTorch's, worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

Array of(DType dtype, const Values& values) { return Array(dtype, {static_cast<int32_t>(values.size())}, values); }

// NaN where NaN is expected; zeros with their sign.
void expect_same(const Values& actual, const Values& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << i << ": " << actual[i];
    } else {
      EXPECT_EQ(actual[i], expected[i]) << i;
      EXPECT_EQ(std::signbit(actual[i]), std::signbit(expected[i])) << i;
    }
  }
}

Values call(Kernel kernel, const Values& a, const Values& b, DType dtype = DType::kF32) {
  const Array out(dtype, {static_cast<int32_t>(a.size())});
  EXPECT_EQ(run(kernel, {of(dtype, a), of(dtype, b), out}), Error::kOk);
  EXPECT_TRUE(out.intact());
  return out.values();
}

Values call_mode(const Values& a, const Values& b, const char* mode, DType dtype = DType::kF32) {
  const Array out(dtype, {static_cast<int32_t>(a.size())});
  EXPECT_EQ(run(div_out_mode, {of(dtype, a), of(dtype, b), mode, out}), Error::kOk);
  return out.values();
}

TEST(Arithmetic, AddsWithAlpha) {
  const Array out = f32({2});
  ASSERT_EQ(run(add_out, {f32({2}, {1, 2}), f32({2}, {10, 20}), 1, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{11, 22}));
  ASSERT_EQ(run(add_out, {f32({2}, {1, 2}), f32({2}, {10, 20}), 0.5, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{6, 12}));
  ASSERT_EQ(run(sub_out, {f32({2}, {1, 2}), f32({2}, {10, 20}), 2, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{-19, -38}));
  ASSERT_EQ(run(sub_Scalar_out, {f32({2}, {1, 2}), 3, 2, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{-5, -4}));
  ASSERT_EQ(run(rsub_Scalar_out, {f32({2}, {1, 2}), 1.5, 2, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{-0.5, -2.5}));
  EXPECT_EQ(run(add_out, {i64({1}, {1}), i64({1}, {1}), 1.5, i64({1})}), Error::kInvalidArgument);
}

TEST(Arithmetic, IntegersWrapAround) {
  EXPECT_EQ(call(mul_out, {100, -100}, {3, 3}, DType::kI8), (Values{44, -44}));
  const Array out = i64({1});
  const Array largest = i64({1});
  largest.set_integers({INT64_MAX});
  ASSERT_EQ(run(add_out, {largest, i64({1}, {1}), 1, out}), Error::kOk);
  EXPECT_EQ(out.integers()[0], INT64_MIN);
  const Array smallest = i64({1});
  smallest.set_integers({INT64_MIN});
  ASSERT_EQ(run(add_out, {smallest, smallest, int64_t{INT64_MIN}, out}), Error::kOk);
  EXPECT_EQ(out.integers()[0], INT64_MIN);
}

TEST(Arithmetic, BoolAddsAsOr) {
  const Array out = boolean({3});
  ASSERT_EQ(run(add_out, {boolean({3}, {1, 1, 0}), boolean({3}, {1, 0, 0}), 1, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 1, 0}));
  ASSERT_EQ(run(mul_out, {boolean({3}, {1, 1, 0}), boolean({3}, {1, 0, 0}), out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 0, 0}));
  ASSERT_EQ(run(add_out, {boolean({3}, {1, 1, 0}), boolean({3}, {1, 0, 1}), -1, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 1, 1}));
  EXPECT_EQ(run(sub_out, {out, out, 1, out}), Error::kInvalidArgument);
}

TEST(Arithmetic, MixedInputsAreComputedInTheWiderType) {
  const Array out = f32({2});
  ASSERT_EQ(run(add_out, {i64({2}, {1, 2}), f32({2}, {0.5, 0.25}), 1, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1.5, 2.25}));
  const Array wide(DType::kI16, {1});
  ASSERT_EQ(run(add_out, {of(DType::kU8, {200}), of(DType::kI8, {-100}), 1, wide}), Error::kOk);
  EXPECT_EQ(wide.values(), (Values{100}));
  // The sum is in i8 and wraps there, before it is stored in a wider output.
  const Array stored = i32({1});
  ASSERT_EQ(run(add_out, {of(DType::kI8, {100}), of(DType::kI8, {100}), 1, stored}), Error::kOk);
  EXPECT_EQ(stored.values(), (Values{-56}));
  // 2049 is not an f16.
  const Array half(DType::kF16, {1});
  ASSERT_EQ(run(add_out, {of(DType::kF16, {1}), i64({1}, {2049}), 1, half}), Error::kOk);
  EXPECT_EQ(half.values(), (Values{2048}));
}

TEST(Arithmetic, ResultsThatCannotBeCastAreRefused) {
  const auto outcome = run_with(add_out, {f32({1}, {1.5}), f32({1}, {1}), 1, i64({1})}, 1);
  EXPECT_EQ(outcome.error, Error::kInvalidArgument);
  EXPECT_NE(outcome.message.find("cast"), std::string::npos) << outcome.message;
  EXPECT_EQ(run(div_out, {i64({1}, {7}), i64({1}, {2}), i64({1})}), Error::kInvalidArgument);
}

TEST(Arithmetic, ScalarsTakeTheTensorsTypeAndWrap) {
  const Array bytes(DType::kU8, {1});
  ASSERT_EQ(run(add_Scalar_out, {of(DType::kU8, {44}), 300, 1, bytes}), Error::kOk);
  EXPECT_EQ(bytes.values(), (Values{88}));
  const Array out = boolean({1});
  ASSERT_EQ(run(eq_Scalar_out, {of(DType::kU8, {44}), 300, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1}));
  ASSERT_EQ(run(eq_Scalar_out, {i64({1}, {1}), 1.5, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{0}));
  ASSERT_EQ(run(eq_Scalar_out, {of(DType::kF16, {0.1}), 0.1, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1}));
  const Array real = f32({1});
  ASSERT_EQ(run(mul_Scalar_out, {i64({1}, {3}), 0.5, real}), Error::kOk);
  EXPECT_EQ(real.values(), (Values{1.5}));
}

TEST(Arithmetic, MaximumAndMinimumKeepNaN) {
  expect_same(call(maximum_out, {kNaN, 1, 2, -0.0, 0}, {0, kNaN, 3, 0, -0.0}), {kNaN, kNaN, 3, -0.0, 0});
  expect_same(call(minimum_out, {kNaN, 1, 2}, {0, kNaN, 3}), {kNaN, kNaN, 2});
}

TEST(Division, FloorAndRemainderOfIntegers) {
  EXPECT_EQ(call(floor_divide_out, {-7, 7, -7, -6}, {2, -2, -2, 3}, DType::kI64), (Values{-4, -4, 3, -2}));
  EXPECT_EQ(call(remainder_Tensor_out, {-7, 7, -7, -6}, {2, -2, -2, 3}, DType::kI64), (Values{1, -1, -1, 0}));
  EXPECT_EQ(call(fmod_Tensor_out, {-7, 7}, {2, -2}, DType::kI64), (Values{-1, 1}));
  EXPECT_EQ(call_mode({-7, 7}, {2, -2}, "trunc", DType::kI64), (Values{-3, -3}));
  EXPECT_EQ(call_mode({-128}, {-1}, "floor", DType::kI8), (Values{-128}));
}

TEST(Division, SmallestByMinusOneWraps) {
  const Array smallest = i64({1});
  smallest.set_integers({INT64_MIN});
  const Array out = i64({1});
  ASSERT_EQ(run(floor_divide_out, {smallest, i64({1}, {-1}), out}), Error::kOk);
  EXPECT_EQ(out.integers()[0], INT64_MIN);
  ASSERT_EQ(run(remainder_Tensor_out, {smallest, i64({1}, {-1}), out}), Error::kOk);
  EXPECT_EQ(out.integers()[0], 0);
}

TEST(Division, IntegerDivisionByZeroIsAnError) {
  const Array out = i64({2});
  for (const Kernel kernel : std::initializer_list<Kernel>{floor_divide_out, remainder_Tensor_out, fmod_Tensor_out}) {
    EXPECT_EQ(run(kernel, {i64({2}, {1, 2}), i64({2}, {1, 0}), out}), Error::kInvalidArgument);
  }
  EXPECT_EQ(run(remainder_Scalar_out, {i64({2}, {1, 2}), 0, out}), Error::kInvalidArgument);
  const Array bytes(DType::kU8, {1});
  EXPECT_EQ(run(remainder_Scalar_out, {of(DType::kU8, {1}), 256, bytes}), Error::kInvalidArgument);
  EXPECT_EQ(run(div_out_mode, {out, out, "round", out}), Error::kInvalidArgument);
}

TEST(Division, FloatsAtTheirEdges) {
  expect_same(
      call_mode({1, -1, 0, kNaN, kInfinity, -kInfinity, 5, -5}, {0, 0, 0, 0, 1, 2, -kInfinity, kInfinity}, "floor"),
      {kInfinity, -kInfinity, kNaN, kNaN, kNaN, kNaN, -1, -1});
  expect_same(call_mode({-7, 7, -0.0, 1, 0.1}, {2, -2, 5, kInfinity, 0.01}, "floor"), {-4, -4, -0.0, 0, 10});
  expect_same(call_mode({-7, 7, -0.0, 1}, {2, -2, 5, kInfinity}, "trunc"), {-3, -3, -0.0, 0});
  expect_same(call(remainder_Tensor_out, {-7, 7, -0.0, 1, 5, kInfinity, 5, -5, -1e-20},
                   {2, -2, 5, 0, -kInfinity, 2, kInfinity, kInfinity, 3}),
              {1, -1, -0.0, kNaN, -kInfinity, kNaN, 5, kInfinity, 3});
  expect_same(
      call(fmod_Tensor_out, {-7, 7, -0.0, 1, 5, kInfinity, 5, -5}, {2, -2, 5, 0, -kInfinity, 2, kInfinity, kInfinity}),
      {-1, 1, -0.0, kNaN, 5, kNaN, 5, -5});
}

TEST(Division, ShortFloatsRoundBeforeTheyTruncate) {
  EXPECT_EQ(call_mode({1}, {0.0999755859375}, "trunc"), (Values{10}));
  // 0.2548828125 / 0.050994873046875 is 4.998, which is 5 in f16.
  EXPECT_EQ(call_mode({0.2548828125}, {0.050994873046875}, "trunc", DType::kF16), (Values{5}));
}

TEST(Division, WithoutModeIsTrueDivision) {
  const Array out = f32({1});
  ASSERT_EQ(run(div_out_mode, {i64({1}, {7}), i64({1}, {2}), nullptr, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{3.5}));
  ASSERT_EQ(run(div_Scalar_out, {i64({1}, {7}), 2, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{3.5}));
  ASSERT_EQ(run(div_Scalar_mode_out, {f32({1}, {-7}), 2, "floor", out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{-4}));
}

TEST(Bitwise, ShiftsOutOfRangeLeaveNothingOrTheSign) {
  EXPECT_EQ(call(bitwise_left_shift_Tensor_out, {1, 1, 1, -1}, {31, 32, -1, 4}, DType::kI32),
            (Values{-2147483648.0, 0, 0, -16}));
  EXPECT_EQ(call(bitwise_left_shift_Tensor_out, {255, 1}, {1, 8}, DType::kU8), (Values{254, 0}));
  EXPECT_EQ(call(bitwise_left_shift_Tensor_out, {127, 1, 1}, {1, 7, 8}, DType::kI8), (Values{-2, -128, 0}));
  EXPECT_EQ(call(bitwise_right_shift_Tensor_out, {-8, -8, 8, 8, -8}, {1, 32, 40, -1, -1}, DType::kI32),
            (Values{-4, -1, 0, 0, -1}));
  EXPECT_EQ(call(bitwise_right_shift_Tensor_out, {255, 255, 255}, {7, 8, 255}, DType::kU8), (Values{1, 0, 0}));
  const Array out = f32({1});
  EXPECT_EQ(run(bitwise_left_shift_Tensor_out, {out, out, out}), Error::kInvalidArgument);
}

TEST(Bitwise, IntegersAndBool) {
  EXPECT_EQ(call(bitwise_and_Tensor_out, {12, -1}, {10, 5}, DType::kI32), (Values{8, 5}));
  EXPECT_EQ(call(bitwise_or_Tensor_out, {12, -1}, {10, 5}, DType::kI32), (Values{14, -1}));
  EXPECT_EQ(call(bitwise_xor_Tensor_out, {12, 1}, {10, 1}, DType::kI32), (Values{6, 0}));
  EXPECT_EQ(call(bitwise_xor_Tensor_out, {1, 1}, {1, 0}, DType::kBool), (Values{0, 1}));
  const Array out(DType::kI8, {1});
  ASSERT_EQ(run(bitwise_and_Scalar_out, {of(DType::kI8, {-1}), 300, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{44}));
  const Array real = f32({1}, {1});
  EXPECT_EQ(run(bitwise_and_Tensor_out, {real, real, real}), Error::kInvalidArgument);
}

TEST(Comparison, SeesNaNAndPromotes) {
  const Array a = f32({3}, {kNaN, 1, 2});
  const Array b = f32({3}, {kNaN, 1, 1});
  const Array out = boolean({3});
  const struct {
    Kernel kernel;
    Values expected;
  } rows[] = {{eq_Tensor_out, {0, 1, 0}}, {ne_Tensor_out, {1, 0, 1}}, {lt_Tensor_out, {0, 0, 0}},
              {le_Tensor_out, {0, 1, 0}}, {gt_Tensor_out, {0, 0, 1}}, {ge_Tensor_out, {0, 1, 1}}};
  for (const auto& row : rows) {
    ASSERT_EQ(run(row.kernel, {a, b, out}), Error::kOk);
    EXPECT_EQ(out.values(), row.expected);
  }
  ASSERT_EQ(run(lt_Scalar_out, {a, 2, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{0, 1, 0}));
  ASSERT_EQ(run(gt_Tensor_out, {boolean({1}, {1}), i64({1}, {0}), boolean({1})}), Error::kOk);
  const Array bytes(DType::kU8, {3});
  ASSERT_EQ(run(eq_Tensor_out, {a, b, bytes}), Error::kOk);
  EXPECT_EQ(bytes.values(), (Values{0, 1, 0}));
}

TEST(Comparison, LogicalOperatorsTakeNaNForTrue) {
  const Array a = f32({3}, {kNaN, 0, 2});
  const Array b = i64({3}, {1, 0, 0});
  const Array out = boolean({3});
  ASSERT_EQ(run(logical_and_out, {a, b, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 0, 0}));
  ASSERT_EQ(run(logical_or_out, {a, b, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 0, 1}));
  ASSERT_EQ(run(logical_xor_out, {a, b, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{0, 0, 1}));
}

TEST(Pow, IntegersStayWhole) {
  EXPECT_EQ(call(pow_Tensor_Tensor_out, {2, 1, -1, 0, -1}, {-1, -2, -3, -1, -2}, DType::kI64),
            (Values{0, 1, -1, 0, 1}));
  EXPECT_EQ(call(pow_Tensor_Tensor_out, {3, 2, 0}, {40, 31, 0}, DType::kI32), (Values{689956897, -2147483648.0, 1}));
  const Array out = i64({2});
  EXPECT_EQ(run(pow_Tensor_Scalar_out, {i64({2}, {2, 3}), -1, out}), Error::kInvalidArgument);
  ASSERT_EQ(run(pow_Scalar_out, {2, i64({2}, {3, -1}), out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{8, 0}));
}

TEST(Pow, ShortExponentsEqualLongOnes) {
  const Values in = {0.25, 1, 2, 3.5};
  const Array x = f32({4}, in);
  const Array y = f32({4});
  for (const double exponent : {2.0, 3.0, 0.5, -1.0, -2.0, -0.5, 1.7}) {
    ASSERT_EQ(run(pow_Tensor_Scalar_out, {x, exponent, y}), Error::kOk);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(y.values()[i], std::pow(in[i], exponent), 3e-6 * y.values()[i]);
    const Array z = f32({4});
    ASSERT_EQ(run(pow_Tensor_Tensor_out, {x, f32({1}, {exponent}), z}), Error::kOk);
    // To the bit on the host; a device's pow is as exact as its manual says.
    const double ulps = testing::tolerated_ulps() * std::numeric_limits<float>::epsilon();
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(z.values()[i], y.values()[i], ulps * y.values()[i]) << exponent;
  }
  expect_same(call(pow_Tensor_Tensor_out, {-8, 0, 0, kNaN, 1, -kInfinity}, {1.0 / 3, -1, 0, 0, kNaN, 0.5}),
              {kNaN, kInfinity, 1, 1, 1, kInfinity});
}

TEST(Where, BroadcastsBothSides) {
  const Array condition = boolean({2, 1}, {1, 0});
  const Array a = f32({3}, {1, 2, 3});
  const Array b = f32({}, {-1});
  const Array out = f32({2, 3});
  ASSERT_EQ(run(where_self_out, {condition, a, b, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{1, 2, 3, -1, -1, -1}));
  const Array mixed = f32({2});
  ASSERT_EQ(run(where_self_out, {boolean({2}, {1, 0}), i32({2}, {1, 2}), f32({1}, {1.5}), mixed}), Error::kOk);
  EXPECT_EQ(mixed.values(), (Values{1, 1.5}));
  EXPECT_EQ(run(where_self_out, {i64({2}, {1, 0}), a, a, a}), Error::kInvalidArgument);
}

TEST(MaskedFill, BroadcastsItsMask) {
  const Array out = f32({2, 2});
  ASSERT_EQ(run(masked_fill_Scalar_out, {f32({2}, {1, 2}), boolean({2, 1}, {1, 0}), 3, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{3, 3, 1, 2}));
  const Array whole = i64({2});
  ASSERT_EQ(run(masked_fill_Scalar_out, {i64({2}, {1, 2}), boolean({2}, {1, 0}), 1.5, whole}), Error::kOk);
  EXPECT_EQ(whole.values(), (Values{1, 2}));
}

TEST(Clamp, BetweenTensors) {
  const Array out = f32({3});
  ASSERT_EQ(run(clamp_Tensor_out, {f32({3}, {kNaN, 1, 2}), f32({3}, {0, kNaN, 0}), f32({3}, {1, 1, kNaN}), out}),
            Error::kOk);
  for (const double value : out.values()) EXPECT_TRUE(std::isnan(value));
  ASSERT_EQ(run(clamp_Tensor_out, {f32({3}, {-5, 1, 9}), nullptr, f32({1}, {3}), out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{-5, 1, 3}));
  ASSERT_EQ(run(clamp_Tensor_out, {i64({3}, {-5, 1, 9}), i64({1}, {0}), nullptr, i64({3})}), Error::kOk);
}

TEST(Atan2, KnowsItsQuadrant) {
  const Values y = call(atan2_out, {1, 1, -1, 0}, {0, -1, -1, -1});
  EXPECT_NEAR(y[0], M_PI / 2, 1e-6);
  EXPECT_NEAR(y[1], 3 * M_PI / 4, 1e-6);
  EXPECT_NEAR(y[2], -3 * M_PI / 4, 1e-6);
  EXPECT_NEAR(y[3], M_PI, 1e-6);
}

TEST(Arithmetic, SizesThatDoNotBroadcastAreRefusedWithASentence) {
  const auto outcome = run_with(add_out, {f32({2, 3}), f32({2}), 1, f32({2, 3})}, 1);
  EXPECT_EQ(outcome.error, Error::kInvalidArgument);
  EXPECT_NE(outcome.message.find("broadcast"), std::string::npos) << outcome.message;
}

}  // namespace
}  // namespace berth::portable
