// berth::quantized_linear and berth::quantized_conv by plain kernels, against sums of 64 bits that are made here.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>

#include "base/seeds_testing.h"
#include "kernels/portable/fused_activation.h"
#include "kernels/portable/quantized_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

double at(const std::optional<Array>& numbers, int64_t i, double otherwise) {
  if (!numbers) return otherwise;
  const std::vector<double> values = numbers->values();
  return values[values.size() == 1 ? 0 : i];
}

// Every operation rounds to f32: the store to memory sees to it.
float rounded(double x) {
  volatile float result = static_cast<float>(x);
  return result;
}

double quantised(const QuantizedCase& c, float t, double scale, double zero, double low, double high) {
  const float wide = c.rounding == "divide" ? rounded(t / rounded(scale)) : rounded(t * rounded(1 / scale));
  if (std::isnan(wide)) return low;
  return std::min(std::max(std::nearbyint(static_cast<double>(wide)) + zero, low), high);
}

// What the sum `s`, without the bias, becomes.
double finished(const QuantizedCase& c, int64_t s, int64_t row, int64_t column, double residual) {
  if (c.bias && c.bias->tensor().dtype() == DType::kI32) s += static_cast<int64_t>(at(c.bias, column, 0));
  float m = rounded(at(c.scale, column, 0));
  if (c.input_scale) m = rounded(rounded(at(c.input_scale, row, 1)) * m);
  float t = rounded(static_cast<double>(rounded(static_cast<int32_t>(static_cast<uint32_t>(s)))) * m);
  if (c.bias && c.bias->tensor().dtype() == DType::kF32) t = rounded(static_cast<double>(t) + at(c.bias, column, 0));
  const DType dtype = c.out.tensor().dtype();
  const double lowest = dtype == DType::kI8 ? -128 : 0;
  if (c.middle_scale != 0 && dtype == DType::kF32) {
    const double zero = static_cast<double>(c.middle_zero);
    const double q = quantised(c, t, c.out_scale, zero, static_cast<double>(c.out_min), static_cast<double>(c.out_max));
    t = rounded((q - zero) * rounded(c.middle_scale));
  } else if (c.middle_scale != 0) {
    const double q = quantised(c, t, c.middle_scale, static_cast<double>(c.middle_zero), lowest, lowest + 255);
    t = rounded((q - static_cast<double>(c.middle_zero)) * rounded(c.middle_scale));
  }
  if (c.residual && c.residual->tensor().dtype() == DType::kF32) t = rounded(t + residual);
  if (c.residual && c.residual->tensor().dtype() != DType::kF32) {
    t = rounded(t + rounded((residual - static_cast<double>(c.residual_zero)) * rounded(c.residual_scale)));
  }
  KernelContext context({}, nullptr);
  Activation activation;
  EXPECT_EQ(read_activation(context, {c.activation.data(), c.activation.size()}, c.alpha, c.beta, &activation),
            Error::kOk);
  activate(activation, &t, 1);
  if (dtype == DType::kF32) return t;
  return quantised(c, t, c.out_scale, static_cast<double>(c.out_zero), static_cast<double>(c.out_min),
                   static_cast<double>(c.out_max));
}

std::vector<double> residual_of(const QuantizedCase& c) {
  return c.residual ? c.residual->values() : std::vector<double>(c.out.tensor().numel());
}

Array expected_linear(const QuantizedCase& c) {
  const std::vector<double> x = c.input.values(), w = c.weight.values(), residual = residual_of(c);
  const Tensor& weight = c.weight.tensor();
  const bool batched = weight.rank() == 3;
  const int64_t depth = weight.size(batched ? 1 : 0), columns = weight.size(batched ? 2 : 1);
  const int64_t rows = batched ? c.input.tensor().size(1) : INT64_MAX;  // of a matrix
  std::vector<double> results(c.out.tensor().numel());
  for (size_t i = 0; i < results.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / columns, column = static_cast<int64_t>(i) % columns;
    const double* const matrix = w.data() + row / rows * depth * columns;
    double s = 0;
    for (int64_t k = 0; k < depth; ++k) {
      s += (x[row * depth + k] - at(c.input_zero, row, 0)) *
           (matrix[k * columns + column] - at(c.weight_zero, column, 0));
    }
    results[i] = finished(c, static_cast<int64_t>(s), row, column, residual[i]);
  }
  const Array expected(c.out.tensor().dtype(), c.out.sizes());
  expected.set(results);
  return expected;
}

// Of an image.
Array expected_conv(const QuantizedCase& c) {
  const std::vector<double> x = c.input.values(), w = c.weight.values(), residual = residual_of(c);
  const Tensor& in = c.input.tensor();
  const Tensor& out = c.out.tensor();
  const Tensor& weight = c.weight.tensor();
  std::vector<double> results;
  for (int64_t n = 0; n < out.size(0); ++n) {
    for (int64_t o = 0; o < out.size(1); ++o) {
      const int64_t first = o / (out.size(1) / c.groups) * weight.size(1);
      for (int64_t y = 0; y < out.size(2); ++y) {
        for (int64_t x_ = 0; x_ < out.size(3); ++x_) {
          double s = 0;
          for (int64_t i = 0; i < weight.size(1); ++i) {
            for (int64_t ky = 0; ky < weight.size(2); ++ky) {
              for (int64_t kx = 0; kx < weight.size(3); ++kx) {
                const int64_t in_y = y * c.stride[0] - c.padding[0] + ky * c.dilation[0];
                const int64_t in_x = x_ * c.stride[1] - c.padding[1] + kx * c.dilation[1];
                if (in_y < 0 || in_y >= in.size(2) || in_x < 0 || in_x >= in.size(3)) continue;
                const double a = x[((n * in.size(1) + first + i) * in.size(2) + in_y) * in.size(3) + in_x];
                const double b = w[((o * weight.size(1) + i) * weight.size(2) + ky) * weight.size(3) + kx];
                s += (a - at(c.input_zero, 0, 0)) * (b - at(c.weight_zero, o, 0));
              }
            }
          }
          results.push_back(finished(c, static_cast<int64_t>(s), 0, o, residual[results.size()]));
        }
      }
    }
  }
  const Array expected(out.dtype(), c.out.sizes());
  expected.set(results);
  return expected;
}

TEST(QuantizedProduct, IsTheSumThatTheHeaderSays) {
  berth::testing::for_each_seed(150, [](unsigned seed) {
    QuantizedCases cases(seed);
    const QuantizedCase c = cases.linear(cases.whole(1, 5), cases.whole(0, 20), cases.whole(1, 300) % 40 + 1, true);
    ASSERT_EQ(run_with(quantized_linear_out, c.args(), cases.whole(1, 3)).message, "");
    EXPECT_EQ(first_difference(expected_linear(c), c.out), "");
  });
}

TEST(QuantizedProduct, MultipliesEachOfABatchByItsOwnMatrix) {
  berth::testing::for_each_seed(60, [](unsigned seed) {
    QuantizedCases cases(seed);
    const QuantizedCase c =
        cases.matrices(cases.whole(1, 4), cases.whole(1, 5), cases.whole(1, 20), cases.whole(1, 30), true);
    ASSERT_EQ(run_with(quantized_linear_out, c.args(), cases.whole(1, 3)).message, "");
    EXPECT_EQ(first_difference(expected_linear(c), c.out), "");
  });
}

TEST(QuantizedProduct, TakesMoreColumnsThanItFinishesAtOnce) {
  QuantizedCases cases(1);
  for (int i = 0; i < 4; ++i) {
    const QuantizedCase c = cases.linear(2, 3, 600);
    ASSERT_EQ(run_with(quantized_linear_out, c.args(), 1).error, Error::kOk);
    EXPECT_EQ(first_difference(expected_linear(c), c.out), "");
  }
}

TEST(QuantizedConvolution, IsTheSumThatTheHeaderSays) {
  berth::testing::for_each_seed(150, [](unsigned seed) {
    QuantizedCases cases(seed);
    QuantizedCases::Image image;
    image.batch = cases.whole(1, 2);
    image.groups = cases.whole(1, 3);
    image.in = cases.whole(1, 4);
    image.out = cases.whole(1, 4);
    for (int i = 0; i < 2; ++i) {
      image.size.push_back(cases.whole(1, 6));
      image.kernel.push_back(cases.whole(1, 3));
      image.stride.push_back(cases.whole(1, 2));
      image.padding.push_back(cases.whole(0, 2));
      image.dilation.push_back(cases.whole(1, 2));
    }
    const std::vector<uint8_t> order = cases.truth() ? std::vector<uint8_t>{} : std::vector<uint8_t>{0, 2, 3, 1};
    const auto c = cases.convolution(image, order, true);
    if (!c) return;
    ASSERT_EQ(run_with(quantized_conv_out, c->args(), cases.whole(1, 3)).message, "");
    EXPECT_EQ(first_difference(expected_conv(*c), c->out), "");
  });
}

// 5 * 3 - 4 * 2 = 7, halves of which lie between two numbers.
QuantizedCase small_case() {
  QuantizedCase c;
  c.input = Array(DType::kI8, {1, 2}, {5, -4});
  c.weight = Array(DType::kI8, {2, 2}, {3, 1, 2, 1});
  c.scale = f32({1}, {0.5});
  c.out = Array(DType::kI8, {1, 2});
  c.out_min = -128;
  c.out_max = 127;
  return c;
}

TEST(QuantizedProduct, RoundsHalvesToEven) {
  QuantizedCase c = small_case();
  ASSERT_EQ(run_with(quantized_linear_out, c.args(), 1).error, Error::kOk);
  EXPECT_EQ(c.out.values(), (std::vector<double>{4, 0}));  // 3.5 and 0.5
  c.out_zero = 1;
  ASSERT_EQ(run_with(quantized_linear_out, c.args(), 1).error, Error::kOk);
  EXPECT_EQ(c.out.values(), (std::vector<double>{5, 1}));
}

TEST(QuantizedProduct, DividesOrMultipliesAsItIsTold) {
  // Some quotients and products round to different sides of a half.
  QuantizedCase c = small_case();
  c.out_scale = 0.1;
  int different = 0;
  for (int i = 1; i < 400; ++i) {
    c.scale = f32({1}, {i * 0.01});
    std::vector<double> results[2];
    for (const char* rounding : {"divide", "inverse"}) {
      c.rounding = rounding;
      ASSERT_EQ(run_with(quantized_linear_out, c.args(), 1).error, Error::kOk);
      results[c.rounding == "divide"] = c.out.values();
    }
    different += results[0] != results[1];
  }
  EXPECT_GT(different, 0);
}

TEST(QuantizedProduct, TheResidualMayLieWhereTheResultDoes) {
  QuantizedCase c = small_case();
  c.residual = Array(DType::kI8, {1, 2}, {10, -20});
  c.residual_scale = 0.5;
  c.residual_zero = 2;
  ASSERT_EQ(run_with(quantized_linear_out, c.args(*c.residual, c.weight, ""), 1).error, Error::kOk);
  EXPECT_EQ(c.residual->values(), (std::vector<double>{8, -10}));  // 3.5 + 4, 0.5 - 11
}

TEST(QuantizedProduct, ScalesThatAreNoNumbersGiveTheSmallest) {
  QuantizedCase c = small_case();
  c.out_min = -100;
  for (const double scale : {std::nan(""), 0.0}) {
    c.out_scale = scale;
    c.scale = f32({1}, {scale});
    ASSERT_EQ(run_with(quantized_linear_out, c.args(), 1).error, Error::kOk);
    EXPECT_EQ(c.out.values(), (std::vector<double>{-100, -100}));  // NaN, and 0 / 0
  }
}

Error error_of(const QuantizedCase& c) {
  return run_with(c.conv ? Kernel(quantized_conv_out) : Kernel(quantized_linear_out), c.args(), 1).error;
}

TEST(QuantizedProduct, RefusesWhatDoesNotFit) {
  const auto refused = [](auto change) {
    QuantizedCase c = small_case();
    change(c);
    EXPECT_EQ(error_of(c), Error::kInvalidArgument) << run_with(quantized_linear_out, c.args(), 1).message;
  };
  EXPECT_EQ(error_of(small_case()), Error::kOk);
  refused([](QuantizedCase& c) { c.input = f32({1, 2}); });
  refused([](QuantizedCase& c) { c.input = Array(DType::kI8, {1, 3}); });
  refused([](QuantizedCase& c) { c.weight = Array(DType::kI16, {2, 2}); });
  refused([](QuantizedCase& c) { c.weight = Array(DType::kI8, {4}); });
  refused([](QuantizedCase& c) { c.scale = Array(DType::kF64, {1}); });
  refused([](QuantizedCase& c) { c.scale = f32({3}); });
  refused([](QuantizedCase& c) { c.input_scale = f32({2}); });
  refused([](QuantizedCase& c) { c.input_zero = Array(DType::kU8, {1}, {1}); });
  refused([](QuantizedCase& c) { c.input_zero = i32({1}, {128}); });
  refused([](QuantizedCase& c) { c.input_zero = i32({2}, {1, 1}); });
  refused([](QuantizedCase& c) { c.weight_zero = i32({2}, {0, -129}); });
  refused([](QuantizedCase& c) { c.bias = i32({1}, {1}); });
  refused([](QuantizedCase& c) { c.bias = Array(DType::kI8, {2}, {1, 1}); });
  refused([](QuantizedCase& c) { c.residual = Array(DType::kI8, {2, 1}, {1, 1}); });
  refused([](QuantizedCase& c) { c.residual = Array(DType::kI16, {1, 2}, {1, 1}); });
  refused([](QuantizedCase& c) {
    c.residual = Array(DType::kI8, {1, 2}, {1, 1});
    c.residual_zero = 128;
  });
  refused([](QuantizedCase& c) { c.out = Array(DType::kI16, {1, 2}); });
  refused([](QuantizedCase& c) { c.out = Array(DType::kI8, {2, 2}); });
  refused([](QuantizedCase& c) { c.out_zero = 128; });
  refused([](QuantizedCase& c) { c.out_min = -129; });
  refused([](QuantizedCase& c) { c.out_max = -128, c.out_min = 0; });
  refused([](QuantizedCase& c) { c.out_max = INT64_MAX; });
  refused([](QuantizedCase& c) { c.rounding = "up"; });
  refused([](QuantizedCase& c) { c.activation = "swash"; });
  refused([](QuantizedCase& c) { c.middle_scale = 1, c.middle_zero = 200; });
  const auto numbers_refused = [&](auto change) {
    refused([&](QuantizedCase& c) {
      c.out = f32({1, 2});
      c.middle_scale = 3, c.out_scale = 1, c.out_min = -128, c.out_max = 127;
      EXPECT_EQ(error_of(c), Error::kOk);
      change(c);
    });
  };
  numbers_refused([](QuantizedCase& c) { c.out_scale = 2; });
  numbers_refused([](QuantizedCase& c) { c.out_min = 1, c.out_max = 0; });
  numbers_refused([](QuantizedCase& c) { c.out_max = 256; });
  numbers_refused([](QuantizedCase& c) { c.out_min = -129; });
  numbers_refused([](QuantizedCase& c) { c.middle_zero = 256; });
  const QuantizedCase c = small_case();
  EXPECT_EQ(run_with(quantized_linear_out, c.args(c.out, c.weight, "berth int8 [2,2]"), 1).error, Error::kNotSupported);
}

TEST(QuantizedConvolution, RefusesWhatDoesNotFit) {
  const auto refused = [](auto change) {
    QuantizedCases cases(3);
    QuantizedCase c = *cases.convolution({1, 2, 2, 2, {4, 4}, {3, 3}, {1, 1}, {0, 0}, {1, 1}}, {});
    EXPECT_EQ(error_of(c), Error::kOk);
    change(c);
    EXPECT_EQ(error_of(c), Error::kInvalidArgument);
  };
  refused([](QuantizedCase& c) { c.groups = 3; });
  refused([](QuantizedCase& c) { c.stride = {0, 1}; });
  refused([](QuantizedCase& c) { c.padding = {-1, 1}; });
  refused([](QuantizedCase& c) { c.dilation = {2, 2}; });
  refused([](QuantizedCase& c) { c.input = Array(DType::kF32, c.input.sizes()); });
  refused([](QuantizedCase& c) { c.input_scale = f32({2}); });
  refused([](QuantizedCase& c) { c.residual = f32({1, 4, 2, 3}); });
}

}  // namespace
}  // namespace berth::portable
