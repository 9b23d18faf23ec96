#include "tools/differences.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace berth::tool {
namespace {

template <typename T>
Array array(DType dtype, std::vector<int64_t> shape, const std::vector<T>& numbers) {
  Array out{dtype, std::move(shape), std::vector<uint8_t>(numbers.size() * sizeof(T))};
  std::memcpy(out.bytes.data(), numbers.data(), out.bytes.size());
  return out;
}

Array floats(const std::vector<float>& numbers) {
  return array(DType::kF32, {1, static_cast<int64_t>(numbers.size())}, numbers);
}

Difference difference(const Array& expected, const Array& actual) {
  Difference out;
  out.add(expected, actual);
  return out;
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Difference, IsWhatTheFormulasSay) {
  const Difference d = difference(floats({1, -2, 3, 0}), floats({1, -2, 3.5, 0.5}));
  EXPECT_EQ(d.largest(), 0.5);
  EXPECT_EQ(d.mean(), 0.25);
  EXPECT_EQ(d.relative(), 0.1);  // of 5
  EXPECT_NEAR(d.sqnr(), 10 * std::log10(14 / 0.5), 1e-12);
  EXPECT_EQ(d.different(), 2);
}

TEST(Difference, AddsUpOverSamples) {
  Difference d = difference(floats({1, 1}), floats({1, 1}));
  d.add(floats({-1, 1}), floats({-1, 2}));
  EXPECT_EQ(d.arrays(), 2);
  EXPECT_EQ(d.mean(), 0.25);
  EXPECT_EQ(d.relative(), 0.5);
  EXPECT_NEAR(d.sqnr(), 10 * std::log10(4.0), 1e-12);
}

TEST(Difference, EqualArraysHaveNoNoise) {
  const Difference d = difference(floats({1, kNan, kInf, -kInf}), floats({1, kNan, kInf, -kInf}));
  EXPECT_EQ(d.sqnr(), HUGE_VAL);
  EXPECT_EQ(d.largest(), 0);
  EXPECT_EQ(d.relative(), 0);
  EXPECT_EQ(d.json()["equal"], true);
  EXPECT_TRUE(d.json()["sqnr_db"].is_null());
}

TEST(Difference, ANumberThatBecameNanIsNotOverlooked) {
  for (const float wrong : {kNan, kInf}) {
    const Difference d = difference(floats({1, 2}), floats({1, wrong}));
    EXPECT_EQ(d.unlike(), 1);
    EXPECT_EQ(d.largest(), HUGE_VAL);
    EXPECT_EQ(d.sqnr(), -HUGE_VAL);
  }
  EXPECT_EQ(difference(floats({kInf}), floats({-kInf})).unlike(), 1);
  EXPECT_EQ(difference(floats({kNan}), floats({0})).unlike(), 1);
}

TEST(Difference, NoiseWhereAllShouldBeZeroIsTheWorst) {
  EXPECT_EQ(difference(floats({0, 0}), floats({0, 1e-9f})).sqnr(), -HUGE_VAL);
}

TEST(Difference, ArgmaxIsTheFirstOfEqualOnesInEachRow) {
  const Array a = array<float>(DType::kF32, {3, 2}, {1, 2, 5, 5, 0, 1});
  const Array b = array<float>(DType::kF32, {3, 2}, {2, 1, 4, 4, 0, 9});
  const Difference d = difference(a, b);
  EXPECT_EQ(d.rows(), 3);
  EXPECT_EQ(d.same_argmax(), 2);
  EXPECT_EQ(difference(array<float>(DType::kF32, {2, 1}, {1, 2}), array<float>(DType::kF32, {2, 1}, {1, 2})).rows(), 0);
}

TEST(Difference, IntegersDifferBySteps) {
  const Difference d = difference(array<uint8_t>(DType::kU8, {2}, {0, 255}), array<int8_t>(DType::kI8, {2}, {0, 127}));
  EXPECT_TRUE(d.integers());
  EXPECT_EQ(d.largest(), 128);
  const uint16_t large = 65535;
  EXPECT_EQ(difference(array<uint16_t>(DType::kU16, {1}, {large}), array<uint16_t>(DType::kU16, {1}, {0})).largest(),
            65535);
}

TEST(Difference, OtherShapesAndIntegersAgainstFloatsAreNotComparable) {
  EXPECT_FALSE(Difference::comparable(floats({1, 2}), floats({1})));
  EXPECT_FALSE(Difference::comparable(array<int32_t>(DType::kI32, {1, 1}, {1}), floats({1})));
  EXPECT_TRUE(Difference::comparable(array<double>(DType::kF64, {1, 1}, {1}), floats({1})));
}

TEST(Difference, ComplexNumbersArePairs) {
  const Difference d =
      difference(array<float>(DType::kComplex64, {1}, {3, 4}), array<float>(DType::kComplex64, {1}, {3, 5}));
  EXPECT_EQ(d.largest(), 1);
  EXPECT_EQ(d.rows(), 0);
}

}  // namespace
}  // namespace berth::tool
