#include "compiler/quantize/scales.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace berth::quantize {
namespace {

TEST(Scale, EndsOfTheRangeAreEndsOfTheIntegers) {
  const Scale u8 = scale_of({-1, 1.55f}, DType::kU8);
  EXPECT_FLOAT_EQ(u8.scale, 0.01f);
  EXPECT_EQ(u8.zero_point, 100);
  const Scale i8 = scale_of({-1, 1.55f}, DType::kI8);
  EXPECT_FLOAT_EQ(i8.scale, 0.01f);
  EXPECT_EQ(i8.zero_point, -28);
}

TEST(Scale, ARangeIsWidenedToHoldZero) {
  const Scale above = scale_of({2, 5.1f}, DType::kU8);
  EXPECT_FLOAT_EQ(above.scale, 0.02f);
  EXPECT_EQ(above.zero_point, 0);
  const Scale below = scale_of({-5.1f, -2}, DType::kI8);
  EXPECT_FLOAT_EQ(below.scale, 0.02f);
  EXPECT_EQ(below.zero_point, 127);
}

TEST(Scale, NothingButZeroAndLargestNumbersAreScales) {
  EXPECT_EQ(scale_of({0, 0}, DType::kU8).scale, 1);
  EXPECT_EQ(scale_of({0, 1e-45f}, DType::kU8).scale, 1);
  const float most = std::numeric_limits<float>::max();
  const Scale wide = scale_of({-most, most}, DType::kU8);
  EXPECT_TRUE(std::isfinite(wide.scale));
  EXPECT_TRUE(wide.zero_point == 127 || wide.zero_point == 128) << wide.zero_point;
}

TEST(Weight, EachChannelHasItsOwnScaleWhereverItsDimensionIs) {
  Weight rows;
  ASSERT_TRUE(quantize_weight(std::vector<float>{1.27f, -0.5f, 0, 254}, 1, 2, 2, 1, {}, &rows));
  EXPECT_FLOAT_EQ(rows.scales[0], 0.01f);
  EXPECT_FLOAT_EQ(rows.scales[1], 2);
  EXPECT_EQ(rows.integers, (std::vector<int8_t>{127, -50, 0, 127}));
  Weight columns;
  ASSERT_TRUE(quantize_weight(std::vector<float>{1.27f, 0, -0.5f, -254}, 2, 2, 1, 1, {}, &columns));
  EXPECT_FLOAT_EQ(columns.scales[0], 0.01f);
  EXPECT_FLOAT_EQ(columns.scales[1], 2);
  EXPECT_EQ(columns.integers, (std::vector<int8_t>{127, 0, -50, -127}));
}

TEST(Weight, AChannelOfZerosIsNotDividedByZero) {
  Weight weight;
  ASSERT_TRUE(quantize_weight(std::vector<float>{0, 0}, 1, 1, 2, 1, {}, &weight));
  EXPECT_EQ(weight.scales[0], 1);
  EXPECT_EQ(weight.integers, (std::vector<int8_t>{0, 0}));
}

TEST(Weight, WhatIsNotFiniteIsRefused) {
  Weight weight;
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_FALSE(quantize_weight(std::vector<float>{1, wrong}, 1, 1, 2, 1, {}, &weight));
  }
}

TEST(Weight, ABiasFarAboveItsWeightsStillFitsItsInteger) {
  const std::vector<float> bias = {1000};
  Weight weight;
  ASSERT_TRUE(quantize_weight(std::vector<float>{1e-9f, -1e-9f}, 1, 1, 2, 1e-3f, bias, &weight));
  const std::vector<float> rounded = rounded_bias(bias, 1e-3f, weight.scales);
  EXPECT_NEAR(rounded[0], 1000, 1e-3);
}

TEST(Bias, IsAMultipleOfBothScales) {
  const std::vector<float> rounded = rounded_bias(std::vector<float>{1, -0.26f}, 0.5f, {0.25f, 1});
  EXPECT_EQ(rounded, (std::vector<float>{1, -0.5f}));
}

}  // namespace
}  // namespace berth::quantize
