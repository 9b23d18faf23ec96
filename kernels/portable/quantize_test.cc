#include <gtest/gtest.h>

#include <cmath>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

// What torch.ao's definitions give in PyTorch 2.15.
const Values kReals = {-3, -0.75, -0.25, 0, 0.25, 0.75, 1.25, 100, -100, 0.1, 0.3, -0.7};
constexpr int64_t kI8 = 1;
constexpr int64_t kU8 = 0;
constexpr int64_t kI16 = 2;
constexpr int64_t kF16 = 5;
constexpr int64_t kF32 = 6;

Array f64(Shape shape, const Values& values = {}) { return Array(DType::kF64, std::move(shape), values); }
Array i8(Shape shape, const Values& values = {}) { return Array(DType::kI8, std::move(shape), values); }
Array u8(Shape shape, const Values& values = {}) { return Array(DType::kU8, std::move(shape), values); }

TEST(QuantizePerTensor, MatchesPyTorchForEveryTypeOfResult) {
  const Array bytes = i8({12});
  ASSERT_EQ(run(quantize_per_tensor_out, {f32({12}, kReals), 0.5, 1, -128, 127, kI8, bytes}), Error::kOk);
  EXPECT_EQ(bytes.values(), (Values{-5, -1, 1, 1, 1, 3, 3, 127, -128, 1, 2, 0}));
  const Array unsigned_bytes = u8({12});
  ASSERT_EQ(run(quantize_per_tensor_out, {f32({12}, kReals), 0.1, 10, 0, 255, kU8, unsigned_bytes}), Error::kOk);
  EXPECT_EQ(unsigned_bytes.values(), (Values{0, 2, 8, 10, 12, 18, 22, 255, 0, 11, 13, 3}));
  const Array words(DType::kI16, {12});
  const Array halves(DType::kF16, {12}, kReals);
  ASSERT_EQ(run(quantize_per_tensor_out, {halves, 0.1, -3, -32768, 32767, kI16, words}), Error::kOk);
  EXPECT_EQ(words.values(), (Values{-33, -11, -5, -3, -1, 5, 9, 997, -1003, -2, 0, -10}));
  ASSERT_EQ(
      run(quantize_per_tensor_Tensor_out, {f32({12}, kReals), f32({1}, {0.3}), i64({1}, {2}), -100, 100, kI8, bytes}),
      Error::kOk);
  EXPECT_EQ(bytes.values(), (Values{-8, 0, 1, 2, 3, 4, 6, 100, -100, 2, 3, 0}));
}

TEST(QuantizePerTensor, OfNaNIsTheSmallest) {
  const Array out = i8({3});
  ASSERT_EQ(run(quantize_per_tensor_out, {f32({3}, {NAN, INFINITY, -INFINITY}), 0.5, 1, -7, 9, kI8, out}), Error::kOk);
  EXPECT_EQ(out.values(), (Values{-7, 9, -7}));
}

TEST(QuantizePerChannel, MatchesPyTorchInEveryLayout) {
  for (const Order& order : orders(3)) {
    const Array input(DType::kF32, {2, 3, 2}, kReals, order);
    const Array out(DType::kI8, {2, 3, 2}, {}, order);
    const Array scales = f32({3}, {0.5, 0.1, 0.3});
    ASSERT_EQ(run(quantize_per_channel_out, {input, scales, i64({3}, {1, -2, 3}), 1, -128, 127, kI8, out}), Error::kOk);
    EXPECT_EQ(out.values(), (Values{-5, -1, -4, -2, 4, 5, 3, 127, -128, -1, 4, 1}));
    const Array wide = f64({3}, {0.5, 0.1, 0.3});
    ASSERT_EQ(run(quantize_per_channel_out, {input, wide, i32({3}, {1, -2, 3}), -2, -128, 127, kI8, out}), Error::kOk);
    EXPECT_EQ(out.values(), (Values{-5, -1, -4, -2, 4, 5, 3, 127, -128, -1, 4, 1}));
  }
}

TEST(QuantizePerToken, AddsTheZeroPointBeforeRounding) {
  const Array out = i8({2, 2, 3});
  const Array zeros = i64({2, 2, 1}, {1, -2, 3, 0});
  ASSERT_EQ(run(quantize_per_token_out,
                {f32({2, 2, 3}, kReals), f64({2, 2, 1}, {0.5, 0.1, 0.3, 2}), zeros, -128, 127, kI8, out}),
            Error::kOk);
  EXPECT_EQ(out.values(), (Values{-5, 0, 0, -2, 0, 6, 7, 127, -128, 0, 0, 0}));
  // A scale a row, however it is shaped. 0.5 + 1 rounds to 2, and 0.5 alone would round to 0.
  const Array row = i8({1, 2});
  ASSERT_EQ(run(quantize_per_token_out, {f32({1, 2}, {0.5, 1.5}), f32({1}, {1}), i64({1}, {1}), -128, 127, kI8, row}),
            Error::kOk);
  EXPECT_EQ(row.values(), (Values{2, 2}));
}

TEST(Quantize, RefusesWhatDoesNotFit) {
  const Array x = f32({2, 3});
  const Array out = i8({2, 3});
  const auto quantize = [&](int64_t low, int64_t high, int64_t dtype) {
    return run(quantize_per_tensor_out, {x, 0.5, 1, low, high, dtype, out});
  };
  EXPECT_EQ(quantize(-128, 127, kU8), Error::kInvalidArgument);
  EXPECT_EQ(quantize(-129, 127, kI8), Error::kInvalidArgument);
  EXPECT_EQ(quantize(-128, 128, kI8), Error::kInvalidArgument);
  EXPECT_EQ(quantize(5, 4, kI8), Error::kInvalidArgument);
  EXPECT_EQ(run(quantize_per_tensor_out, {i64({2, 3}), 0.5, 1, 0, 1, kI8, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(quantize_per_tensor_out, {x, 0.5, 1, 0, 1, kI8, i8({3, 2})}), Error::kInvalidArgument);
  EXPECT_EQ(run(quantize_per_tensor_Tensor_out, {x, f32({2}), i64({1}), 0, 1, kI8, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(quantize_per_channel_out, {x, f32({2}), i64({2}), 1, 0, 1, kI8, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(quantize_per_channel_out, {x, f32({3}), i64({2}), 1, 0, 1, kI8, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(quantize_per_channel_out, {x, f32({3}), i64({3}), 2, 0, 1, kI8, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(quantize_per_token_out, {x, f32({3}), i64({3}), 0, 1, kI8, out}), Error::kInvalidArgument);
  EXPECT_EQ(run(quantize_per_token_out, {f32({}), f32({1}), i64({1}), 0, 1, kI8, i8({})}), Error::kInvalidArgument);
}

TEST(Dequantize, MatchesPyTorchForEveryTypeOfResult) {
  const Array q = i8({2, 3}, {-128, -5, 0, 7, 127, 1});
  const Array out = f32({2, 3});
  ASSERT_EQ(run(dequantize_per_tensor_out, {q, 0.1, 3, -128, 127, kI8, nullptr, out}), Error::kOk);
  expect_near(out, {-13.1, -0.8, -0.3, 0.4, 12.4, -0.2});
  const Array halves(DType::kF16, {2, 3});
  ASSERT_EQ(run(dequantize_per_tensor_out, {q, 0.1, 3, -128, 127, kI8, kF16, halves}), Error::kOk);
  expect_near(halves, {-13.10156, -0.7998047, -0.3000488, 0.3999023, 12.39844, -0.1999512}, 1e-2);
  ASSERT_EQ(run(dequantize_per_tensor_Tensor_out, {q, f32({1}, {0.3}), i64({1}, {2}), -128, 127, kI8, nullptr, out}),
            Error::kOk);
  expect_near(out, {-39, -2.1, -0.6, 1.5, 37.5, -0.3});
}

TEST(Dequantize, MatchesPyTorchForChannelsAndTokens) {
  const Array q = i8({2, 3}, {-128, -5, 0, 7, 127, 1});
  const Array out = f32({2, 3});
  const Array scales = f32({3}, {0.5, 0.1, 0.3});
  ASSERT_EQ(run(dequantize_per_channel_out, {q, scales, i64({3}, {1, -2, 3}), 1, -128, 127, kI8, nullptr, out}),
            Error::kOk);
  expect_near(out, {-64.5, -0.3, -0.9, 3, 12.9, -0.6});
  ASSERT_EQ(run(dequantize_per_channel_out, {q, f64({2}, {0.5, 0.1}), nullptr, 0, -128, 127, kI8, nullptr, out}),
            Error::kOk);
  expect_near(out, {-64, -2.5, 0, 0.7, 12.7, 0.1});
  ASSERT_EQ(
      run(dequantize_per_token_out, {q, f64({2, 1}, {0.5, 0.1}), i64({2, 1}, {1, -2}), -128, 127, kI8, kF32, out}),
      Error::kOk);
  expect_near(out, {-64.5, -3, -0.5, 0.9, 12.9, 0.3});
}

TEST(Dequantize, RefusesWhatDoesNotFit) {
  const Array q = i8({2, 3});
  EXPECT_EQ(run(dequantize_per_tensor_out, {q, 0.1, 3, -128, 127, kU8, nullptr, f32({2, 3})}), Error::kInvalidArgument);
  EXPECT_EQ(run(dequantize_per_tensor_out, {q, 0.1, 3, -128, 127, kI8, nullptr, f64({2, 3})}), Error::kInvalidArgument);
  EXPECT_EQ(run(dequantize_per_tensor_out, {q, 0.1, 3, -128, 127, kI8, kI16, Array(DType::kI16, {2, 3})}),
            Error::kInvalidArgument);
  EXPECT_EQ(run(dequantize_per_channel_out, {q, f32({2}), nullptr, 1, -128, 127, kI8, nullptr, f32({2, 3})}),
            Error::kInvalidArgument);
}

TEST(QuantizedAdd, MatchesExecuTorchWithABroadcast) {
  const Array out = u8({4});
  ASSERT_EQ(run(quantized_add_out, {u8({4}, {0, 3, 200, 255}), 0.5, 3, 0, 255, u8({4}, {7, 100, 90, 255}), 0.25, 10, 0,
                                    255, 0.4, 5, 0, 255, out}),
            Error::kOk);
  EXPECT_EQ(out.values(), (Values{0, 61, 255, 255}));
  // (q - 3) * 0.5 + 1 over 0.5, and 5 more.
  ASSERT_EQ(run(quantized_add_out,
                {u8({4}, {0, 3, 9, 255}), 0.5, 3, 0, 255, u8({}, {14}), 0.25, 10, 0, 255, 0.5, 5, 0, 200, out}),
            Error::kOk);
  EXPECT_EQ(out.values(), (Values{4, 7, 13, 200}));
  EXPECT_EQ(run(quantized_add_out, {u8({4}), 0.5, INT64_MIN, 0, 255, u8({4}), 0.25, 10, 0, 255, 0.5, 5, 0, 200, out}),
            Error::kInvalidArgument);
  EXPECT_EQ(run(quantized_add_out, {u8({4}), 0.5, 1, 0, 255, i8({4}), 0.25, 10, 0, 255, 0.5, 5, 0, 200, out}),
            Error::kInvalidArgument);
}

struct Chosen {
  double scale;
  double zero_point;
};

Chosen choose(const Array& input, int64_t low, int64_t high, double eps) {
  const Array scale = f64({1});
  const Array zero_point = i64({1});
  EXPECT_EQ(run(choose_qparams_Tensor_out, {input, low, high, eps, kI8, scale, zero_point}), Error::kOk);
  return {scale.values()[0], zero_point.values()[0]};
}

TEST(ChooseQparams, MatchesPyTorchForRangesOnBothSidesOfZero) {
  struct Case {
    Values input;
    double scale, zero_point, scale_u8, zero_point_u8;
  };
  const Case cases[] = {
      {{-1.5, 2.25, 0.1}, 0.01470588, -26, 0.01470588, 102},    {{0.5, 3.0, 1.0}, 0.01176471, -128, 0.01176471, 0},
      {{-2.0, -1.0, -0.1}, 0.007843138, 127, 0.007843138, 255}, {{0.0, 0.0, 0.0}, 1.192093e-07, -128, 1e-05, 0},
      {{1e-09, -1e-09, 0}, 1.192093e-07, -128, 1e-05, 0},
  };
  for (const Case& c : cases) {
    const Chosen chosen = choose(f32({3}, c.input), -128, 127, 1.1920928955078125e-07);
    EXPECT_NEAR(chosen.scale, c.scale, 1e-8);
    EXPECT_EQ(chosen.zero_point, c.zero_point);
    const Chosen other = choose(f32({3, 1}, c.input), 0, 255, 1e-5);
    EXPECT_NEAR(other.scale, c.scale_u8, 1e-8);
    EXPECT_EQ(other.zero_point, c.zero_point_u8);
  }
}

TEST(ChooseQparams, WithoutNumbersIsOneAndZero) {
  const Chosen chosen = choose(f32({3}, {1, NAN, 2}), -128, 127, 1e-7);
  EXPECT_EQ(chosen.scale, 1);
  EXPECT_EQ(chosen.zero_point, 0);
  EXPECT_EQ(run(choose_qparams_Tensor_out, {f32({0}), -128, 127, 1e-7, kI8, f64({1}), i64({1})}),
            Error::kInvalidArgument);
  EXPECT_EQ(run(choose_qparams_Tensor_out, {f32({1}), 5, 5, 1e-7, kI8, f64({1}), i64({1})}), Error::kInvalidArgument);
}

TEST(ChooseQparamsPerToken, MatchesPyTorchRowByRow) {
  for (const Order& order : orders(3)) {
    const Array input(DType::kF32, {2, 2, 3}, {-1.5, 2.25, 0.1, 0.5, 3, 1, -2, -1, -0.1, 0, 0, 0}, order);
    const Array scale = f64({2, 2, 1});
    const Array zero_point = i64({2, 2, 1});
    ASSERT_EQ(run_with(choose_qparams_per_token_asymmetric_out, {input, kI8, scale, zero_point}, 2).error, Error::kOk);
    expect_near(scale, {0.01470588, 0.01176471, 0.007843138, 1.192093e-07}, 1e-8);
    EXPECT_EQ(zero_point.values(), (Values{-26, -128, 127, 127}));
  }
  // Here the upper end has the smaller error.
  const Array zero_point = i64({1, 1});
  ASSERT_EQ(run(choose_qparams_per_token_asymmetric_out, {f32({1, 2}, {-3, 0.5}), kI8, f64({1, 1}), zero_point}),
            Error::kOk);
  EXPECT_EQ(zero_point.values(), Values{91});
  EXPECT_EQ(run(choose_qparams_per_token_asymmetric_out, {f32({2, 0}), kI8, f64({2, 1}), i64({2, 1})}),
            Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::portable
