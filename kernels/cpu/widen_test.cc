// f16 and bf16 to f32 and back. The fears: a number of 65536 that comes back as another, ties and overflow rounded in
// another way than by the portable kernels, the end of a row.
#include "kernels/cpu/widen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cpu/compare_testing.h"
#include "kernels/portable/convert.h"

namespace berth::cpu {
namespace {

constexpr DType kTypes[] = {DType::kF16, DType::kBF16};

TEST(Widen, EveryNumberIsItself) {
  for (const DType type : kTypes) {
    std::vector<uint16_t> numbers(65536), back(65536);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint16_t>(i);
    std::vector<float> expected(65536), wide(65536);
    portable::convert_elements(type, numbers.data(), DType::kF32, expected.data(), 65536);
    for_each_simd_target([&](const char* target) {
      SCOPED_TRACE(target);
      widen(type, numbers.data(), wide.data(), 65536);
      narrow(type, wide.data(), back.data(), 65536);
      for (size_t i = 0; i < numbers.size(); ++i) {
        if (std::isnan(expected[i])) {
          ASSERT_TRUE(std::isnan(wide[i])) << i;
          float again = 0;
          widen(type, &back[i], &again, 1);
          ASSERT_TRUE(std::isnan(again)) << i;
        } else {
          ASSERT_EQ(std::memcmp(&wide[i], &expected[i], sizeof(float)), 0) << i;
          ASSERT_EQ(back[i], numbers[i]);
        }
      }
    });
  }
}

TEST(Widen, RoundsAsThePortableKernelsDo) {
  std::mt19937 random(1);
  std::vector<float> numbers;
  // Between each two neighbours of f16 and bf16: what is a little below and above the middle, and the middle.
  for (uint32_t i = 0; i < 0x7F80; ++i) {
    for (const DType type : kTypes) {
      const auto low = static_cast<uint16_t>(i), high = static_cast<uint16_t>(i + 1);
      float ends[2];
      portable::convert_elements(type, &low, DType::kF32, &ends[0], 1);
      portable::convert_elements(type, &high, DType::kF32, &ends[1], 1);
      const float middle = ends[0] + (ends[1] - ends[0]) / 2;
      for (const float x : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)}) {
        if (std::isnan(x)) continue;
        numbers.push_back(random() % 2 == 0 ? x : -x);
      }
    }
  }
  for (const float x : {65519.9f, 65520.0f, 1e30f, INFINITY, -INFINITY, 3.4028234e38f, 1e-40f}) numbers.push_back(x);
  const auto n = static_cast<int64_t>(numbers.size());
  for (const DType type : kTypes) {
    std::vector<uint16_t> expected(numbers.size()), found(numbers.size());
    portable::convert_elements(DType::kF32, numbers.data(), type, expected.data(), n);
    for_each_simd_target([&](const char* target) {
      SCOPED_TRACE(target);
      narrow(type, numbers.data(), found.data(), n);
      for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(found[i], expected[i]) << numbers[i];
    });
  }
}

TEST(Widen, RowsOfEveryLengthAndNothingBehindThem) {
  for (const DType type : kTypes) {
    for (int64_t n = 0; n < 70; ++n) {
      for_each_simd_target([&](const char*) {
        std::vector<float> numbers(80, 2.5f), wide(80, -1.0f);
        std::vector<uint16_t> rounded(80, 0xCDCD);
        narrow(type, numbers.data(), rounded.data(), n);
        widen(type, rounded.data(), wide.data(), n);
        for (int64_t i = 0; i < 80; ++i) {
          ASSERT_EQ(rounded[i] == 0xCDCD, i >= n);
          ASSERT_EQ(wide[i], i < n ? 2.5f : -1.0f);
        }
      });
    }
  }
}

}  // namespace
}  // namespace berth::cpu
