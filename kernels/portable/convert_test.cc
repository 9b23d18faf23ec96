// Elements from one type to another. The fears: f16 that the processor's own instructions round in another way, the end
// of a row that they do not reach, integers that are rounded twice or wrap on their way to 16 bits.
#include "kernels/portable/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/half.h"

namespace berth::portable {
namespace {

TEST(Convert, EveryHalfIsItself) {
  std::vector<Half> halves(65536), back(65536);
  std::vector<float> wide(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i].bits = static_cast<uint16_t>(i);
  convert_elements(DType::kF16, halves.data(), DType::kF32, wide.data(), 65536);
  convert_elements(DType::kF32, wide.data(), DType::kF16, back.data(), 65536);
  for (size_t i = 0; i < halves.size(); ++i) {
    const float expected = halves[i];
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide[i]) && std::isnan(static_cast<float>(back[i]))) << i;
    } else {
      ASSERT_EQ(std::memcmp(&wide[i], &expected, sizeof(float)), 0) << i;
      ASSERT_EQ(back[i].bits, i);
    }
  }
}

TEST(Convert, HalvesAreTheNearestAndTiesAreEven) {
  std::vector<float> numbers = {65519.9f, 65520.0f, 1e30f, INFINITY, -INFINITY, 1e-40f, -1e-9f, 3e-8f};
  for (uint16_t i = 0; i < 0x7BFF; ++i) {
    Half low, high;
    low.bits = i;
    high.bits = static_cast<uint16_t>(i + 1);
    const float middle = (static_cast<float>(low) + static_cast<float>(high)) / 2;
    for (const float x : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)}) {
      numbers.push_back(i % 2 == 0 ? x : -x);
    }
  }
  std::vector<Half> found(numbers.size());
  convert_elements(DType::kF32, numbers.data(), DType::kF16, found.data(), static_cast<int64_t>(numbers.size()));
  for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(found[i].bits, Half(numbers[i]).bits) << numbers[i];
}

TEST(Convert, RowsOfEveryLengthAndNothingBehindThem) {
  for (int64_t n = 0; n < 40; ++n) {
    std::vector<float> numbers(48, 2.5f), wide(48, -1.0f);
    std::vector<Half> halves(48, Half(7.0f));
    convert_elements(DType::kF32, numbers.data(), DType::kF16, halves.data(), n);
    convert_elements(DType::kF16, halves.data(), DType::kF32, wide.data(), n);
    for (int64_t i = 0; i < 48; ++i) {
      ASSERT_EQ(static_cast<float>(halves[i]), i < n ? 2.5f : 7.0f);
      ASSERT_EQ(wide[i], i < n ? 2.5f : -1.0f);
    }
  }
}

TEST(Convert, IntegersAndTruthsTo16Bits) {
  // 2049 lies between 2048 and 2050; 4098 between 4096 and 4100.
  const std::vector<int32_t> whole = {0, 1, -1, 2049, 2051, -4098, 65519, 65520, 1 << 30};
  std::vector<Half> halves(whole.size());
  convert_elements(DType::kI32, whole.data(), DType::kF16, halves.data(), static_cast<int64_t>(whole.size()));
  const float expected[] = {0, 1, -1, 2048, 2052, -4096, 65504, INFINITY, INFINITY};
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(static_cast<float>(halves[i]), expected[i]) << whole[i];

  std::vector<uint8_t> truths(300);
  for (size_t i = 0; i < truths.size(); ++i) truths[i] = i % 3 == 0 ? 1 : 0;
  std::vector<BFloat16> numbers(truths.size());
  convert_elements(DType::kBool, truths.data(), DType::kBF16, numbers.data(), 300);
  for (size_t i = 0; i < truths.size(); ++i) EXPECT_EQ(static_cast<float>(numbers[i]), i % 3 == 0 ? 1 : 0);

  const uint64_t large = uint64_t{1} << 63;
  BFloat16 rounded;
  convert_elements(DType::kU64, &large, DType::kBF16, &rounded, 1);
  EXPECT_EQ(static_cast<float>(rounded), 0x1p63f);
}

}  // namespace
}  // namespace berth::portable
