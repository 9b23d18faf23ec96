// Fears about narrow elements: that a code stands for another number, that a number becomes another than the nearest
// element, or that what has no element is invented. Formats are computed here from their definition, in doubles, and
// the nearest element is looked for among all of them.
#include "base/narrow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/seeds_testing.h"

namespace berth {
namespace {

// What stands above the finite numbers of a format.
enum class Rest { kInfinity, kNan, kNanAtMinusZero, kNothing };

struct Definition {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Rest rest;
  double largest;
};

constexpr Definition kDefinitions[] = {
    {DType::kF8E4M3, 4, 3, 7, Rest::kNan, 448},
    {DType::kF8E5M2, 5, 2, 15, Rest::kInfinity, 57344},
    {DType::kF8E4M3Fnuz, 4, 3, 8, Rest::kNanAtMinusZero, 240},
    {DType::kF8E5M2Fnuz, 5, 2, 16, Rest::kNanAtMinusZero, 57344},
    {DType::kF4E2M1, 2, 1, 1, Rest::kNothing, 6},
};

int codes_of(const Definition& d) { return 2 << (d.exponent_bits + d.mantissa_bits); }

double number_of(const Definition& d, int code) {
  const int half = codes_of(d) / 2;
  const int magnitude = code % half;
  const int exponent = magnitude >> d.mantissa_bits;
  const double fraction = std::ldexp(magnitude % (1 << d.mantissa_bits), -d.mantissa_bits);
  if (d.rest == Rest::kNanAtMinusZero && code == half) return std::nan("");
  if (d.rest == Rest::kNan && magnitude == half - 1) return std::nan("");
  if (d.rest == Rest::kInfinity && exponent == (1 << d.exponent_bits) - 1) {
    return fraction != 0 ? std::nan("") : code < half ? HUGE_VAL : -HUGE_VAL;
  }
  const double number = exponent == 0 ? std::ldexp(fraction, 1 - d.bias) : std::ldexp(1 + fraction, exponent - d.bias);
  return code < half ? number : -number;
}

float decoded(DType dtype, int code) {
  const auto byte = static_cast<uint8_t>(code);
  float number = 0;
  decode_narrow(dtype, &byte, &number, 1);
  return number;
}

int encoded(DType dtype, float number) {
  uint8_t code = 0;
  encode_narrow(dtype, &number, &code, 1);
  return code;
}

// The code of the number at the smallest distance, the even one of two; beyond the largest number by half a step or
// more, what the format has there.
int nearest(const Definition& d, float x) {
  const int half = codes_of(d) / 2;
  if (std::isnan(x)) return -1;
  // So far beyond the largest number that distances are still exact.
  const double x_magnitude = std::min(std::abs(static_cast<double>(x)), 2 * d.largest);
  int best = 0;
  int largest = 0;
  for (int code = 0; code < half; ++code) {
    const double number = number_of(d, code);
    if (!std::isfinite(number)) continue;
    largest = code;
    const double distance = std::abs(x_magnitude - number);
    const double smallest = std::abs(x_magnitude - number_of(d, best));
    if (distance < smallest || (distance == smallest && code % 2 == 0)) best = code;
  }
  const double step = number_of(d, largest) - number_of(d, largest - 1);
  const double excess = x_magnitude - number_of(d, largest);
  // At half a step the even one is what would follow, unless the last one is even.
  const bool beyond = excess > step / 2 || (excess == step / 2 && largest % 2 == 1);
  if (beyond && d.rest != Rest::kNothing) {
    if (d.rest != Rest::kInfinity) return -1;
    best = largest + 1;
  }
  if (d.rest == Rest::kNanAtMinusZero && best == 0) return 0;
  return std::signbit(x) ? best + half : best;
}

void expect_nearest(const Definition& d, float x) {
  const int want = nearest(d, x);
  const int got = encoded(d.dtype, x);
  if (want >= 0) {
    EXPECT_EQ(got, want) << to_string(d.dtype) << " of " << x;
  } else if (d.rest == Rest::kNothing) {
    EXPECT_EQ(got, codes_of(d) / 2) << "NaN has no element";
  } else {
    EXPECT_TRUE(std::isnan(number_of(d, got))) << to_string(d.dtype) << " of " << x << ": " << got;
  }
}

TEST(Narrow, EveryCodeStandsForTheNumberOfItsDefinition) {
  for (const Definition& d : kDefinitions) {
    EXPECT_EQ(static_cast<double>(largest_narrow(d.dtype)), d.largest);
    double largest = 0;
    for (int code = 0; code < codes_of(d); ++code) {
      const double want = number_of(d, code);
      const double got = static_cast<double>(decoded(d.dtype, code));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << to_string(d.dtype) << " " << code;
        continue;
      }
      EXPECT_EQ(got, want) << to_string(d.dtype) << " " << code;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << to_string(d.dtype) << " " << code;
      if (std::isfinite(want)) largest = std::max(largest, want);
    }
    EXPECT_EQ(largest, d.largest);
  }
}

// Each element, the middle between it and the next, and the floats beside both.
TEST(Narrow, NumbersBecomeTheNearestElementAndTiesTheEvenOne) {
  for (const Definition& d : kDefinitions) {
    for (int code = 0; code < codes_of(d) / 2; ++code) {
      const double number = number_of(d, code);
      if (!std::isfinite(number)) continue;
      const double next = number_of(d, code + 1);
      const double step = std::isfinite(next) && next > number ? next - number : number - number_of(d, code - 1);
      for (const double x : {number, number + step / 2}) {
        const auto middle = static_cast<float>(x);
        for (const float y : {middle, std::nextafter(middle, HUGE_VALF), std::nextafter(middle, -HUGE_VALF)}) {
          expect_nearest(d, y);
          expect_nearest(d, -y);
        }
      }
    }
    for (const float x : {0.0f, 1e-45f, 1e-40f, 1e5f, 1e30f, HUGE_VALF, std::nanf("")}) {
      expect_nearest(d, x);
      expect_nearest(d, -x);
    }
  }
}

TEST(Narrow, AnyBitsOfAFloatBecomeTheNearestElement) {
  testing::for_each_seed(1, [](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 20000; ++i) {
      uint32_t bits = static_cast<uint32_t>(random());
      // Half of them where elements are: exponents from 2^-20 to 2^19.
      if (i % 2 == 0) bits = (bits & 0x807fffffu) | (107 + bits % 40) << 23;
      float x = 0;
      std::memcpy(&x, &bits, sizeof x);
      for (const Definition& d : kDefinitions) expect_nearest(d, x);
    }
  });
}

TEST(Narrow, ScalesArePowersOfTwo) {
  for (int code = 0; code < 255; ++code) {
    const double number = std::ldexp(1.0, code - 127);
    EXPECT_EQ(static_cast<double>(decoded(DType::kF8E8M0, code)), number);
    EXPECT_EQ(encoded(DType::kF8E8M0, static_cast<float>(number)), code);
    EXPECT_EQ(encoded(DType::kF8E8M0, static_cast<float>(-number)), code) << "a scale has no sign";
    if (code == 0) {  // below, f32 itself has fewer places: ATen rounds up what is between
      EXPECT_EQ(encoded(DType::kF8E8M0, std::nextafter(static_cast<float>(number), 1.0f)), 1);
      EXPECT_EQ(encoded(DType::kF8E8M0, std::nextafter(static_cast<float>(number), 0.0f)), 0);
      continue;
    }
    EXPECT_EQ(encoded(DType::kF8E8M0, std::nextafter(static_cast<float>(1.5 * number), 0.0f)), code);
    EXPECT_EQ(encoded(DType::kF8E8M0, static_cast<float>(1.5 * number)), code + 1);
  }
  EXPECT_TRUE(std::isnan(decoded(DType::kF8E8M0, 255)));
  EXPECT_EQ(encoded(DType::kF8E8M0, 0.0f), 0);
  for (const float x : {HUGE_VALF, -HUGE_VALF, std::nanf(""), 3e38f}) EXPECT_EQ(encoded(DType::kF8E8M0, x), 255) << x;
}

TEST(Narrow, IntegersKeepTheirLowBitsAndTheirSign) {
  struct Type {
    DType dtype;
    int64_t low, high;
  };
  for (const Type& type :
       {Type{DType::kI4, -8, 7}, Type{DType::kU4, 0, 15}, Type{DType::kI2, -2, 1}, Type{DType::kU2, 0, 3}}) {
    const int64_t span = type.high - type.low + 1;
    for (int64_t x = -300; x <= 300; ++x) {
      int64_t want = x;
      while (want > type.high) want -= span;
      while (want < type.low) want += span;
      uint8_t code = 0;
      int64_t got = 0;
      encode_narrow(type.dtype, &x, &code, 1);
      decode_narrow(type.dtype, &code, &got, 1);
      EXPECT_EQ(got, want) << to_string(type.dtype) << " of " << x;
      EXPECT_EQ(static_cast<int8_t>(code), want) << "the byte is the number";
      // Files may hold any byte.
      code = static_cast<uint8_t>(x);
      decode_narrow(type.dtype, &code, &got, 1);
      EXPECT_EQ(got, want);
    }
  }
}

}  // namespace
}  // namespace berth
