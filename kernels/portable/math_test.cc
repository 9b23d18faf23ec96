// The vectorisable functions against the C library in double, over a sweep of all floats.
#include "kernels/portable/math.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/portable/trigonometry.h"

namespace berth::portable {
namespace {

using Function = float (*)(float);
using Reference = double (*)(double);

double ulp_of(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
}

// Every 2053rd bit pattern, negative numbers, denormals, infinities and NaN among them.
void expect_close(Function function, Reference reference, double max_ulp) {
  int failures = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32) && failures < 5; bits += 2053) {
    const float x = math::float_of(static_cast<uint32_t>(bits));
    const double exact = reference(static_cast<double>(x));
    const auto expected = static_cast<float>(exact);
    const float actual = function(x);
    bool good;
    if (std::isnan(expected) || std::isnan(actual)) {
      good = std::isnan(expected) && std::isnan(actual);
    } else if (std::isinf(expected) || std::isinf(actual)) {
      good = expected == actual || std::fabs(exact) > 3.40282e38;
    } else {
      good = std::fabs(actual - exact) <= max_ulp * ulp_of(exact) && std::signbit(actual) == std::signbit(expected);
    }
    if (!good) ++failures;
    EXPECT_TRUE(good) << "at " << x << " (bits " << bits << "): " << actual << " instead of " << exact;
  }
}

double exact_sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

TEST(Math, ExpIsWithinFourUlp) {
  expect_close([](float x) { return math::exp(x); }, [](double x) { return std::exp(x); }, 1.5);
}
TEST(Math, Expm1IsWithinFourUlp) {
  expect_close([](float x) { return math::expm1(x); }, [](double x) { return std::expm1(x); }, 4);
}
TEST(Math, LogIsWithinFourUlp) {
  expect_close([](float x) { return math::log(x); }, [](double x) { return std::log(x); }, 1.5);
}
TEST(Math, Log2IsWithinFourUlp) {
  expect_close([](float x) { return math::log2(x); }, [](double x) { return std::log2(x); }, 2.5);
}
TEST(Math, Log10IsWithinFourUlp) {
  expect_close([](float x) { return math::log10(x); }, [](double x) { return std::log10(x); }, 2.5);
}
TEST(Math, Log1pIsWithinFourUlp) {
  expect_close([](float x) { return math::log1p(x); }, [](double x) { return std::log1p(x); }, 2.5);
}
TEST(Math, TanhIsWithinFourUlp) {
  expect_close([](float x) { return math::tanh(x); }, [](double x) { return std::tanh(x); }, 2);
}
TEST(Math, SigmoidIsWithinFourUlp) {
  expect_close([](float x) { return math::sigmoid(x); }, exact_sigmoid, 3);
}
TEST(Math, ErfIsWithinFourUlp) {
  expect_close([](float x) { return math::erf(x); }, [](double x) { return std::erf(x); }, 2);
}

// Below -87 e^x is denormal, and has fewer digits.
double exact_mish(double x) { return x < -87 ? x * 0 : x * std::tanh(std::log1p(std::exp(x))); }

TEST(Math, MishIsWithinFourUlp) {
  expect_close([](float x) { return x < -87 ? x * 0 : math::mish(x); }, exact_mish, 4);
  for (const float x : {-88.0f, -95.0f, -103.0f, -1000.0f}) EXPECT_NEAR(math::mish(x), x * std::exp(x), 2e-43f) << x;
}

double exact_gelu(double x) { return x * 0.5 * std::erfc(-x * 0.70710678118654752440); }
double exact_gelu_tanh(double x) { return x * exact_sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x)); }

// In the tail, too, where 1 + erf() would have no digit left. What it leaves out is less than 2e-8.
TEST(Math, GeluIsWithin64UlpUpToItsCut) {
  EXPECT_GT(exact_gelu(-5.9f), -2e-8);
  expect_close([](float x) { return math::gelu(x); }, [](double x) { return x < -5.9f ? x * 0 : exact_gelu(x); }, 64);
  expect_close([](float x) { return x < -5 ? 0 : math::gelu_tanh(x); },
               [](double x) { return x < -5 ? 0 : exact_gelu_tanh(x); }, 32);
}

TEST(Math, SineAndCosineAreWithinOneUlp) {
  expect_close([](float x) { return math::sine<0>(x); }, [](double x) { return std::sin(x); }, 0.75);
  expect_close([](float x) { return math::sine<1>(x); }, [](double x) { return std::cos(x); }, 0.75);
}

// The nearest floats to multiples of pi / 2, where what is left of the angle is smallest.
TEST(Math, SineAndCosineNearTheirZeros) {
  for (int n = 1; n < 660000; n += 97) {
    auto x = static_cast<float>(n * 1.57079632679489661923);
    for (int k = 0; k < 3; ++k, x = std::nextafter(x, math::kInfinity)) {
      ASSERT_NEAR(math::sine<0>(x), std::sin(static_cast<double>(x)), ulp_of(std::sin(static_cast<double>(x)))) << x;
      ASSERT_NEAR(math::sine<1>(-x), std::cos(static_cast<double>(x)), ulp_of(std::cos(static_cast<double>(x)))) << x;
    }
  }
}

TEST(Math, ZerosKeepTheirSign) {
  EXPECT_TRUE(std::signbit(math::sine<0>(-0.0f)));
  EXPECT_TRUE(std::signbit(math::tanh(-0.0f)));
  EXPECT_TRUE(std::signbit(math::erf(-0.0f)));
  EXPECT_TRUE(std::signbit(math::expm1(-0.0f)));
  EXPECT_TRUE(std::signbit(math::log1p(-0.0f)));
}

TEST(Math, LimitsAreExact) {
  EXPECT_EQ(math::exp(-math::kInfinity), 0.0f);
  EXPECT_EQ(math::exp(math::kInfinity), math::kInfinity);
  EXPECT_EQ(math::exp(0.0f), 1.0f);
  EXPECT_EQ(math::log(0.0f), -math::kInfinity);
  EXPECT_EQ(math::log(1.0f), 0.0f);
  EXPECT_TRUE(std::isnan(math::log(-1.0f)));
  EXPECT_EQ(math::log1p(-1.0f), -math::kInfinity);
  EXPECT_EQ(math::tanh(math::kInfinity), 1.0f);
  EXPECT_EQ(math::erf(-math::kInfinity), -1.0f);
  EXPECT_EQ(math::sigmoid(-math::kInfinity), 0.0f);
  EXPECT_EQ(math::sigmoid(math::kInfinity), 1.0f);
  EXPECT_GT(math::exp(-103.0f), 0.0f);  // a denormal
}

}  // namespace
}  // namespace berth::portable
