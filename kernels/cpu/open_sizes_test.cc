// Calls whose sizes change: prepared for the largest, they run at others, each held against the portable kernel.
#include <gtest/gtest.h>

#include "kernels/cpu/compare_testing.h"
#include "kernels/cpu/conv_engine.h"
#include "kernels/cpu/conv_testing.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::cpu {
namespace {

using testing::Arg;
using testing::Array;
using testing::Prepared;

struct OpenShape {
  const char* engine;
  int32_t in_channels, out_channels, kernel, stride, padding;
  int groups = 1;
  bool transposed = false;
  bool planes = false;  // the input, of a first convolution
  bool residual = false;
  const char* activation = "none";
  DType type = DType::kF32;  // of the weight
};

int32_t out_size(const OpenShape& s, int32_t in) {
  if (s.transposed) return (in - 1) * s.stride + s.kernel - 2 * s.padding;
  return (in + 2 * s.padding - s.kernel) / s.stride + 1;
}

std::vector<Arg> arguments_of(const OpenShape& s, const Array& input, const Array& weight, const Array& bias,
                              const Array& residual, const Array& out) {
  const auto both = [](int64_t x) { return std::vector<int64_t>{x, x}; };
  return {input,
          weight,
          bias,
          s.residual ? Arg(residual) : Arg(nullptr),
          both(s.stride),
          both(s.padding),
          both(1),
          s.transposed,
          both(0),
          s.groups,
          s.activation,
          0.0,
          0.0,
          "",
          out};
}

// Changes the sizes and fills them.
void fill(std::mt19937& random, const Array& array, const std::vector<int32_t>& sizes) {
  ASSERT_EQ(array.tensor().resize({sizes.data(), sizes.size()}), Error::kOk);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < array.tensor().numel(); ++i) array.tensor().data<float>()[i] = normal(random);
}

Array bounded(std::vector<int32_t> sizes, std::vector<uint8_t> order) {
  return Array(DType::kF32, std::move(sizes), {}, std::move(order), ShapeDynamism::kBounded);
}

void expect_portable(const OpenShape& s, const Array& input, const Array& weight, const Array& bias,
                     const Array& residual, const Array& out) {
  const Array copy(DType::kF32, input.sizes(), input.values(), s.planes ? std::vector<uint8_t>{} : kLast);
  const Array added(DType::kF32, out.sizes(), residual.values(), kLast);
  const Array expected(DType::kF32, out.sizes(), {}, kLast);
  std::vector<Arg> args = arguments_of(s, copy, weight, bias, added, expected);
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  const Span<EValue* const> span(values.data(), values.size());
  const size_t temp = untyped<portable::fused_conv_temp_bytes>(span, 1);
  const auto made = testing::run_with(untyped<portable::fused_conv_out>, args, 1, temp);
  ASSERT_EQ(made.error, Error::kOk) << made.message;
  const std::vector<double> a = expected.values(), b = out.values();
  double scale = 1;
  for (double x : a) scale = std::max(scale, std::abs(x));
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-5 * scale) << "element " << i;
}

void run_sizes(const OpenShape& s, unsigned seed, int threads) {
  SCOPED_TRACE(std::string(s.engine) + ", BERTH_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr int32_t kBatch = 2, kHigh = 40, kWide = 48;
  const auto sizes = [&](int32_t n, int32_t c, int32_t h, int32_t w) { return std::vector<int32_t>{n, c, h, w}; };
  const Array input = bounded(sizes(kBatch, s.in_channels, kHigh, kWide), s.planes ? std::vector<uint8_t>{} : kLast);
  const auto out_sizes = [&](int32_t n, int32_t h, int32_t w) {
    return sizes(n, s.out_channels, out_size(s, h), out_size(s, w));
  };
  const Array out = bounded(out_sizes(kBatch, kHigh, kWide), kLast);
  const Array residual = bounded(out_sizes(kBatch, kHigh, kWide), kLast);
  const Array weight(s.type, s.transposed ? sizes(s.in_channels, s.out_channels / s.groups, s.kernel, s.kernel)
                                          : sizes(s.out_channels, s.in_channels / s.groups, s.kernel, s.kernel));
  weight.set(random_array(random, weight.sizes()).values());
  const Array bias = random_array(random, {s.out_channels});
  Prepared call(testing::kConv, arguments_of(s, input, weight, bias, residual, out), threads, {1, 2});
  ASSERT_EQ(call.error(), Error::kOk) << call.message();
  EXPECT_STREQ(conv_engine(call.state()), s.engine);
  for (int i = 0; i < 12; ++i) {
    // The largest at first and later once more; very small ones too.
    const bool largest = i % 5 == 0;
    const int32_t n = i == 11 ? 1 : largest ? kBatch : 1 + static_cast<int32_t>(random() % kBatch);
    const int32_t least = s.kernel;
    // The last are as many tiles of 4x4 pixels as one block of the convolution with fewer multiplications may have.
    const bool block = i == 11;
    const int32_t h = block     ? 16
                      : largest ? kHigh
                                : least + static_cast<int32_t>(random() % (i % 3 == 0 ? 4 : kHigh - least));
    const int32_t w = block     ? 28
                      : largest ? kWide
                                : least + static_cast<int32_t>(random() % (i % 3 == 1 ? 4 : kWide - least));
    SCOPED_TRACE(std::to_string(n) + "x" + std::to_string(h) + "x" + std::to_string(w));
    fill(random, input, sizes(n, s.in_channels, h, w));
    fill(random, residual, out_sizes(n, h, w));
    ASSERT_EQ(call.run(), Error::kOk) << call.message();
    ASSERT_EQ(out.sizes(), out_sizes(n, h, w));
    expect_portable(s, input, weight, bias, residual, out);
  }
}

constexpr OpenShape kShapes[] = {
    {"tiles", 20, 24, 3, 2, 1, 1, false, false, true, "gelu"},
    {"tiles", 24, 72, 1, 1, 0, 1, false, false, true, "relu"},
    {"tiles", 8, 3, 1, 1, 0, 1, false, false, false, "sigmoid"},
    {"tiles", 40, 60, 3, 1, 1, 2},
    {"winograd", 32, 40, 3, 1, 1, 1, false, false, true, "relu"},
    {"depthwise", 24, 24, 5, 1, 2, 24, false, false, false, "silu"},
    {"depthwise", 20, 20, 3, 2, 1, 20, false, false, true, "none"},
    {"stem", 3, 16, 3, 2, 1, 1, false, true, false, "relu"},
    {"stem", 3, 20, 3, 2, 1},
    {"head", 20, 3, 3, 1, 1, 1, false, false, true, "relu"},
    {"head", 5, 1, 5, 2, 2},
    {"tiles", 12, 1, 2, 2, 0, 1, true, false, false, "sigmoid"},
    {"tiles", 12, 20, 4, 2, 1, 1, true, false, true},
    // Products, whose input is rounded block by block where there is more of it than of the weight; strided ones too.
    {"bf16 tiles", 24, 72, 1, 1, 0, 1, false, false, true, "relu", DType::kBF16},
    {"bf16 tiles", 33, 20, 1, 2, 0, 1, false, false, false, "none", DType::kBF16},
    // Windows, whose input is rounded at once.
    {"bf16 tiles", 20, 24, 3, 2, 1, 1, false, false, true, "gelu", DType::kBF16},
    {"bf16 tiles", 42, 60, 3, 1, 1, 2, false, false, false, "none", DType::kBF16},
    {"f16 tiles", 24, 72, 1, 1, 0, 1, false, false, true, "relu", DType::kF16},
    {"tiles", 20, 24, 3, 2, 1, 1, false, false, false, "none", DType::kF16},
    {"winograd", 32, 40, 3, 1, 1, 1, false, false, true, "relu", DType::kF16},
};

TEST(OpenSizes, ConvolutionsGivePortableNumbersAtEverySize) {
  unsigned seed = 1;
  for (const OpenShape& shape : kShapes) {
    for (const int threads : {1, 3}) run_sizes(shape, seed++, threads);
  }
}

struct ProductShape {
  int32_t rows, depth, columns;  // the most rows
};

// Where there is more input than weight, threads take rows of bf16 in turns; else all rows are rounded first.
constexpr ProductShape kProducts[] = {{90, 33, 50}, {700, 70, 40}, {120, 260, 300}, {7, 512, 2}};

void run_rows(const ProductShape& p, DType type, int threads) {
  SCOPED_TRACE(std::string(to_string(type)) + ", " + std::to_string(p.depth) + "x" + std::to_string(p.columns));
  std::mt19937 random(7);
  const Array input = bounded({p.rows, p.depth}, {}), out = bounded({p.rows, p.columns}, {});
  const Array weight(type, {p.depth, p.columns}), bias = random_array(random, {p.columns});
  weight.set(random_array(random, {p.depth, p.columns}).values());
  Prepared call(testing::kLinear, {input, weight, bias, nullptr, "gelu", 0.0, 0.0, "", out}, threads, {1, 2});
  ASSERT_EQ(call.error(), Error::kOk) << call.message();
  EXPECT_EQ(conv_engine(call.state()), type == DType::kF32 ? "tiles" : std::string(to_string(type)) + " tiles");
  for (const int32_t rows : {p.rows, 1, 17, 2, 64, p.rows, 0, p.rows / 2, 5}) {
    if (rows > p.rows) continue;
    fill(random, input, {rows, p.depth});
    ASSERT_EQ(call.run(), Error::kOk) << call.message();
    ASSERT_EQ(out.sizes(), (std::vector<int32_t>{rows, p.columns}));
    const Array copy(DType::kF32, input.sizes(), input.values()), expected(DType::kF32, out.sizes());
    const auto made = testing::run_with(untyped<portable::fused_linear_out>,
                                        {copy, weight, bias, nullptr, "gelu", 0.0, 0.0, "", expected}, 1, 1 << 22);
    ASSERT_EQ(made.error, Error::kOk) << made.message;
    const std::vector<double> a = expected.values(), b = out.values();
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], 2e-4 * (1 + std::abs(a[i]))) << rows << " rows, element " << i;
    }
  }
}

TEST(OpenSizes, ProductsGivePortableNumbersForAnyRows) {
  for (const DType type : {DType::kF32, DType::kBF16, DType::kF16}) {
    for (const ProductShape& shape : kProducts) {
      for (const int threads : {1, 3}) run_rows(shape, type, threads);
    }
  }
}

TEST(OpenSizes, WhatDoesNotFitTheWeightIsRefused) {
  std::mt19937 random(3);
  const Array input = bounded({1, 8, 9, 9}, kLast), out = bounded({1, 16, 9, 9}, kLast);
  const Array weight = random_array(random, {16, 8, 1, 1});
  const std::vector<int64_t> one = {1, 1}, none = {0, 0};
  Prepared call(testing::kConv,
                {input, weight, nullptr, nullptr, one, none, one, false, none, 1, "none", 0.0, 0.0, "", out});
  ASSERT_EQ(call.error(), Error::kOk);
  fill(random, input, {1, 4, 9, 9});
  EXPECT_EQ(call.run(), Error::kInvalidArgument);
  fill(random, input, {1, 8, 5, 7});
  EXPECT_EQ(call.run(), Error::kOk) << call.message();
}

}  // namespace
}  // namespace berth::cpu
