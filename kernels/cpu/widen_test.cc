// f16 and bf16 to f32 and back. The fears: a number of 65536 that comes back as another, ties and overflow rounded in
// another way than in software, the end of a row.
#include "kernels/cpu/widen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/half.h"
#include "kernels/cpu/compare_testing.h"

namespace berth::cpu {
namespace {

constexpr DType kTypes[] = {DType::kF16, DType::kBF16};

// As base/half.h has it, which no instruction of the processor does.
float number_of(DType type, uint16_t bits) {
  Half half;
  BFloat16 brain;
  half.bits = brain.bits = bits;
  return type == DType::kF16 ? static_cast<float>(half) : static_cast<float>(brain);
}
uint16_t bits_of(DType type, float number) { return type == DType::kF16 ? Half(number).bits : BFloat16(number).bits; }

TEST(Widen, EveryNumberIsItself) {
  for (const DType type : kTypes) {
    std::vector<uint16_t> numbers(65536), back(65536);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint16_t>(i);
    std::vector<float> expected(65536), wide(65536);
    for (size_t i = 0; i < numbers.size(); ++i) expected[i] = number_of(type, numbers[i]);
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

TEST(Widen, RoundsAsInSoftware) {
  std::mt19937 random(1);
  std::vector<float> numbers;
  // Between each two neighbours of f16 and bf16: what is a little below and above the middle, and the middle.
  for (uint32_t i = 0; i < 0x7F80; ++i) {
    for (const DType type : kTypes) {
      const float low = number_of(type, static_cast<uint16_t>(i)), high = number_of(type, static_cast<uint16_t>(i + 1));
      const float middle = low + (high - low) / 2;
      for (const float x : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)}) {
        if (std::isnan(x)) continue;
        numbers.push_back(random() % 2 == 0 ? x : -x);
      }
    }
  }
  for (const float x : {65519.9f, 65520.0f, 1e30f, INFINITY, -INFINITY, 3.4028234e38f, 1e-40f}) numbers.push_back(x);
  const auto n = static_cast<int64_t>(numbers.size());
  for (const DType type : kTypes) {
    std::vector<uint16_t> found(numbers.size());
    for_each_simd_target([&](const char* target) {
      SCOPED_TRACE(target);
      narrow(type, numbers.data(), found.data(), n);
      for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(found[i], bits_of(type, numbers[i])) << numbers[i];
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
