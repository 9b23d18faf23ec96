// Operators on one tensor. Expected values are PyTorch's, worked out by hand or in double.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/kernel_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

Values call(Kernel kernel, const Values& in, DType dtype = DType::kF32) {
  const Array x(dtype, {static_cast<int32_t>(in.size())}, in);
  const Array y(dtype, {static_cast<int32_t>(in.size())});
  EXPECT_EQ(run(kernel, {x, y}), Error::kOk);
  EXPECT_TRUE(y.intact());
  return y.values();
}

TEST(Unary, ReluKeepsNaNAndMinusZero) {
  const Values y = call(relu_out, {kNaN, -0.0, -kInfinity, -1, 2});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::signbit(y[1]));
  EXPECT_EQ(Values(y.begin() + 2, y.end()), (Values{0, 0, 2}));
}

TEST(Unary, HardtanhAndClampKeepNaN) {
  const Array x = f32({3}, {kNaN, -3, kInfinity});
  const Array y = f32({3});
  ASSERT_EQ(run(hardtanh_out, {x, -1, 1, y}), Error::kOk);
  EXPECT_TRUE(std::isnan(y.values()[0]));
  EXPECT_EQ(y.values()[1], -1);
  EXPECT_EQ(y.values()[2], 1);
  ASSERT_EQ(run(clamp_out, {x, 1.5, kNaN, y}), Error::kOk);
  for (const double value : y.values()) EXPECT_TRUE(std::isnan(value));
}

TEST(Unary, SignOfNaNIsZero) { EXPECT_EQ(call(sign_out, {kNaN, -3, 0, 5}), (Values{0, -1, 0, 1})); }

TEST(Unary, ClampsUpperLimitWinsAndTypesPromote) {
  const Array x = f32({3}, {0, 1, 5});
  const Array y = f32({3});
  ASSERT_EQ(run(clamp_out, {x, 3, 2, y}), Error::kOk);
  EXPECT_EQ(y.values(), (Values{2, 2, 2}));
  const Array whole = i64({3}, {0, 1, 5});
  ASSERT_EQ(run(clamp_out, {whole, 0.5, 2.5, y}), Error::kOk);
  EXPECT_EQ(y.values(), (Values{0.5, 1, 2.5}));
  const Array bytes(DType::kU8, {2}, {5, 250});
  const Array out(DType::kU8, {2});
  ASSERT_EQ(run(clamp_out, {bytes, -1, 300, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{5, 250}));
  ASSERT_EQ(run(clamp_out, {bytes, nullptr, 100, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{5, 100}));
  EXPECT_EQ(run(clamp_out, {bytes, nullptr, nullptr, out}), Error::kInvalidArgument);
}

TEST(Unary, FloatsRoundHalfToEven) {
  EXPECT_EQ(call(round_out, {0.5, 1.5, 2.5, -0.5, -2.5, 8388609}), (Values{0, 2, 2, 0, -2, 8388609}));
  EXPECT_EQ(call(round_out, {0.5, 1.5, 2.5}, DType::kF64), (Values{0, 2, 2}));
  EXPECT_EQ(call(floor_out, {-0.5, 1.5}), (Values{-1, 1}));
  EXPECT_EQ(call(ceil_out, {-0.5, 1.5}), (Values{0, 2}));
  EXPECT_EQ(call(trunc_out, {-1.5, 1.5}), (Values{-1, 1}));
  EXPECT_EQ(call(ceil_out, {-7, 7}, DType::kI32), (Values{-7, 7}));
}

TEST(Unary, TheSmallestIntegerWrapsAround) {
  EXPECT_EQ(call(neg_out, {-128, 5}, DType::kI8), (Values{-128, -5}));
  EXPECT_EQ(call(abs_out, {-128, -5}, DType::kI8), (Values{-128, 5}));
  EXPECT_EQ(call(neg_out, {1, 0}, DType::kU8), (Values{255, 0}));
  const Array x = i64({1});
  const Array y = i64({1});
  x.set_integers({INT64_MIN});
  ASSERT_EQ(run(abs_out, {x, y}), Error::kOk);
  EXPECT_EQ(y.integers()[0], INT64_MIN);
}

TEST(Unary, BoolIsRefusedOrLogical) {
  const Array x = boolean({2}, {1, 0});
  const Array y = boolean({2});
  for (const Kernel kernel : std::initializer_list<Kernel>{neg_out, abs_out, relu_out, ceil_out}) {
    EXPECT_EQ(run(kernel, {x, y}), Error::kInvalidArgument);
  }
  EXPECT_FALSE(run_with(neg_out, {x, y}, 1).message.empty());
  ASSERT_EQ(run(bitwise_not_out, {x, y}), Error::kOk);
  EXPECT_EQ(y.values(), (Values{0, 1}));
  ASSERT_EQ(run(sign_out, {x, y}), Error::kOk);
  EXPECT_EQ(y.values(), (Values{1, 0}));
}

TEST(Unary, AnyNonzeroByteIsTrue) {
  const Array x = boolean({2});
  x.tensor().data<uint8_t>()[0] = 2;
  x.tensor().data<uint8_t>()[1] = 0;
  const Array y = boolean({2});
  ASSERT_EQ(run(logical_not_out, {x, y}), Error::kOk);
  EXPECT_EQ(y.values(), (Values{0, 1}));
}

TEST(Unary, PredicatesOfSpecialFloatsAndIntegers) {
  const Array x = f32({4}, {kNaN, -kInfinity, 0, 3});
  const Array y = boolean({4});
  ASSERT_EQ(run(isnan_out, {x, y}), Error::kOk);
  EXPECT_EQ(y.values(), (Values{1, 0, 0, 0}));
  ASSERT_EQ(run(isinf_out, {x, y}), Error::kOk);
  EXPECT_EQ(y.values(), (Values{0, 1, 0, 0}));
  ASSERT_EQ(run(logical_not_out, {x, y}), Error::kOk);
  EXPECT_EQ(y.values(), (Values{0, 0, 1, 0}));
  ASSERT_EQ(run(isnan_out, {i32({4}, {1, 2, 3, 4}), y}), Error::kOk);
  EXPECT_EQ(y.values(), (Values{0, 0, 0, 0}));
}

TEST(Unary, FloatingResultsOfIntegersAreF32) {
  const Array x = i64({3}, {2, 0, 4});
  const Array y = f32({3});
  ASSERT_EQ(run(reciprocal_out, {x, y}), Error::kOk);
  EXPECT_EQ(y.values(), (Values{0.5, kInfinity, 0.25}));
  ASSERT_EQ(run(sqrt_out, {x, y}), Error::kOk);
  EXPECT_EQ(y.values()[2], 2);
  const Array whole = i64({3});
  EXPECT_EQ(run(sqrt_out, {x, whole}), Error::kInvalidArgument);
}

// Each kernel against the C library in double, for all floating types, with that type's resolution.
TEST(Unary, FloatingKernelsAreTheFunctionsOfTheirNames) {
  struct Row {
    Kernel kernel;
    double (*exact)(double);
    double low, high;
  };
  const Row rows[] = {
      {acos_out, std::acos, -1, 1},
      {acosh_out, std::acosh, 1, 9},
      {asin_out, std::asin, -1, 1},
      {asinh_out, std::asinh, -9, 9},
      {atan_out, std::atan, -9, 9},
      {atanh_out, std::atanh, -0.9, 0.9},
      {cos_out, std::cos, -9, 9},
      {cosh_out, std::cosh, -3, 3},
      {erf_out, std::erf, -4, 4},
      {exp_out, std::exp, -5, 5},
      {expm1_out, std::expm1, -3, 3},
      {log_out, std::log, 0.1, 9},
      {log10_out, std::log10, 0.1, 9},
      {log1p_out, std::log1p, -0.9, 9},
      {log2_out, std::log2, 0.1, 9},
      {sin_out, std::sin, -9, 9},
      {sinh_out, std::sinh, -3, 3},
      {sqrt_out, std::sqrt, 0, 9},
      {tan_out, std::tan, -1.4, 1.4},
      {tanh_out, std::tanh, -4, 4},
      {rsqrt_out, [](double x) { return 1 / std::sqrt(x); }, 0.1, 9},
      {reciprocal_out, [](double x) { return 1 / x; }, 0.1, 9},
      {sigmoid_out, [](double x) { return 1 / (1 + std::exp(-x)); }, -9, 9},
  };
  struct Kind {
    DType dtype;
    double tolerance;
  };
  for (const Kind kind : {Kind{DType::kF32, 5e-7}, {DType::kF64, 1e-14}, {DType::kF16, 1e-3}, {DType::kBF16, 8e-3}}) {
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
      Values in(301);
      for (size_t i = 0; i < in.size(); ++i) {
        in[i] = rows[r].low + (rows[r].high - rows[r].low) * static_cast<double>(i) / 300;
      }
      const Array x(kind.dtype, {301}, in);
      const Values actual = call(rows[r].kernel, in, kind.dtype);
      for (size_t i = 0; i < in.size(); ++i) {
        const double exact = rows[r].exact(x.values()[i]);
        EXPECT_NEAR(actual[i], exact, kind.tolerance * std::fmax(std::fabs(exact), 1e-2))
            << "row " << r << " at " << x.values()[i] << " in " << to_string(kind.dtype);
      }
    }
  }
}

// Angles that the loops leave to the C library, between those that they do not; the ends of their parts.
TEST(Unary, SinesOfFarAnglesAreTheCLibrarys) {
  for (const size_t count : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{200}}) {
    for (const size_t far : {size_t{0}, count / 2, count - 1}) {
      for (const double angle : {3e6, -1e30, -0.0, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
        Values in(count);
        for (size_t i = 0; i < count; ++i)
          in[i] = std::ldexp(static_cast<double>(i % 37) - 18, static_cast<int>(i % 9));
        in[far] = angle;
        const Array x(DType::kF32, {static_cast<int32_t>(count)}, in);
        for (const bool cosine : {false, true}) {
          const Values actual = cosine ? call(cos_out, in, DType::kF32) : call(sin_out, in, DType::kF32);
          for (size_t i = 0; i < count; ++i) {
            const double exact = cosine ? std::cos(x.values()[i]) : std::sin(x.values()[i]);
            ASSERT_EQ(std::isnan(actual[i]), std::isnan(exact)) << x.values()[i];
            ASSERT_TRUE(std::isnan(exact) || std::fabs(actual[i] - exact) <= 1e-7 * std::fabs(exact)) << x.values()[i];
            ASSERT_TRUE(std::isnan(exact) || std::signbit(actual[i]) == std::signbit(exact)) << x.values()[i];
          }
        }
      }
    }
  }
}

TEST(Unary, ActivationsAreTheirFormulas) {
  const Values in = {-8, -2, -1, -0.5, -0.0, 0, 0.3, 1, 2, 8};
  const Array x = f32({10}, in);
  const Array y = f32({10});
  const auto expect = [&](double (*exact)(double)) {
    for (size_t i = 0; i < in.size(); ++i) EXPECT_NEAR(y.values()[i], exact(in[i]), 1e-6) << "at " << in[i];
  };
  ASSERT_EQ(run(gelu_out, {x, "none", y}), Error::kOk);
  expect([](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
  ASSERT_EQ(run(gelu_out, {x, "tanh", y}), Error::kOk);
  expect([](double v) { return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); });
  EXPECT_EQ(run(gelu_out, {x, "tan", y}), Error::kInvalidArgument);
  ASSERT_EQ(run(elu_out, {x, 2, 3, 0.5, y}), Error::kOk);
  expect([](double v) { return v <= 0 ? 6 * std::expm1(v * 0.5) : 3 * v; });
  ASSERT_EQ(run(leaky_relu_out, {x, 0.25, y}), Error::kOk);
  expect([](double v) { return v > 0 ? v : 0.25 * v; });
  EXPECT_EQ(run(elu_out, {i64({1}, {1}), 1, 1, 1, i64({1})}), Error::kInvalidArgument);
}

TEST(Unary, LogitClampsItsInput) {
  const Array x = f32({5}, {-1, 0, 1, 0.5, kNaN});
  const Array y = f32({5});
  ASSERT_EQ(run(logit_out, {x, nullptr, y}), Error::kOk);
  EXPECT_TRUE(std::isnan(y.values()[0]));
  EXPECT_EQ(y.values()[1], -kInfinity);
  EXPECT_EQ(y.values()[2], kInfinity);
  ASSERT_EQ(run(logit_out, {x, 0.1, y}), Error::kOk);
  EXPECT_NEAR(y.values()[0], std::log(0.1 / 0.9), 1e-6);
  EXPECT_NEAR(y.values()[2], std::log(0.9 / 0.1), 1e-6);
  EXPECT_TRUE(std::isnan(y.values()[4]));
}

TEST(Unary, OutputsResizeWithinTheirCapacity) {
  const Array x = f32({2, 2}, {-1, 2, -3, 4});
  const Array bounded(DType::kF32, {3, 4}, {}, {}, ShapeDynamism::kBounded);
  ASSERT_EQ(run(relu_out, {x, bounded}), Error::kOk);
  EXPECT_EQ(bounded.sizes(), (std::vector<int32_t>{2, 2}));
  EXPECT_EQ(bounded.values(), (Values{0, 2, 0, 4}));
  EXPECT_EQ(run(relu_out, {x, f32({3, 4})}), Error::kInvalidArgument);
  EXPECT_EQ(run(relu_out, {x, f32({4})}), Error::kInvalidArgument);
}

TEST(Unary, EmptyAndSingleElements) {
  const Array none = f32({0, 3});
  EXPECT_EQ(run(relu_out, {none, f32({0, 3})}), Error::kOk);
  const Array one = f32({}, {-2});
  const Array out = f32({});
  ASSERT_EQ(run(relu_out, {one, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{0}));
}

TEST(Unary, OtherDimensionOrders) {
  const Values in = {-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12};
  const Array nchw = f32({1, 3, 2, 2}, in);
  const Array nhwc(DType::kF32, {1, 3, 2, 2}, {}, {0, 2, 3, 1});
  ASSERT_EQ(run(neg_out, {nchw, nhwc}), Error::kOk);
  for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(nhwc.values()[i], -in[i]);
  const Array back = f32({1, 3, 2, 2});
  ASSERT_EQ(run(neg_out, {nhwc, back}), Error::kOk);
  EXPECT_EQ(back.values(), in);
}

TEST(Unary, LargeTensorsInPlaceOnThreads) {
  const int32_t count = 300001;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI16}) {
    Values in(count);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i % 201) - 100;
    const Array x(dtype, {count}, in);
    const Array same = x;
    ASSERT_EQ(run_with(relu_out, {x, same}, 4).error, Error::kOk);
    const Values out = x.values();
    for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] < 0 ? 0 : in[i]) << i;
  }
}

}  // namespace
}  // namespace berth::portable
