// Bytes by table, and from numbers, many at a time. The fears: a byte of another part of the table; an end that is not
// a whole register; a number that is not one, too large, or halfway between two, which a register rounds otherwise.
#include "kernels/cpu/element_bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/seeds_testing.h"

namespace berth::cpu {
namespace {

TEST(ElementBytes, LooksUpEveryByteAtEveryLength) {
  testing::for_each_seed(20, [](unsigned seed) {
    std::mt19937 random(seed);
    ByteTable table;
    for (uint8_t& byte : table.byte) byte = static_cast<uint8_t>(random());
    std::vector<uint8_t> in(300 + random() % 100);
    std::iota(in.begin(), in.end(), static_cast<uint8_t>(random()));
    for (size_t n = 0; n <= in.size(); n += 1 + random() % 40) {
      std::vector<uint8_t> out(in.size() + 1, 7), expected = out;
      for (size_t i = 0; i < n; ++i) expected[i] = table.byte[in[i]];
      look_up_bytes(table, in.data(), static_cast<int64_t>(n), out.data());
      ASSERT_EQ(out, expected) << n;
      std::vector<uint8_t> in_place = in;
      look_up_bytes(table, in_place.data(), static_cast<int64_t>(n), in_place.data());
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(in_place[i], expected[i]) << i << " of " << n;
    }
  });
}

// By the definition, one at a time.
template <typename T>
T quantised(float x, const Quantising& by) {
  const float scaled = by.divides ? x / by.factor : x * by.factor;
  if (std::isnan(scaled)) return static_cast<T>(by.nan);
  return static_cast<T>(std::fmin(std::fmax(std::nearbyint(scaled) + by.zero, by.low), by.high));
}

template <typename T>
void compare_with_one_at_a_time(std::mt19937& random, DType dtype) {
  constexpr float kSpecial[] = {std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN(),
                                3e38f,
                                -3e38f,
                                -0.0f};
  Quantising by;
  by.divides = random() % 2 == 0;
  by.factor = by.divides ? 0.25f : 4;
  by.low = std::numeric_limits<T>::min();
  by.high = std::numeric_limits<T>::max();
  by.zero = by.low + static_cast<float>(random() % 256);
  by.nan = by.low;
  std::vector<float> in(random() % 200);
  for (float& x : in) x = static_cast<float>(static_cast<int32_t>(random() % 900) - 450) / 8;  // halves, many of them
  for (float& x : in) {
    if (random() % 16 == 0) x = kSpecial[random() % std::size(kSpecial)];
  }
  std::vector<T> out(in.size());
  quantise_elements(in.data(), static_cast<int64_t>(in.size()), by, dtype, out.data());
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(+out[i], +quantised<T>(in[i], by)) << in[i] << " at " << i << " of " << in.size();
  }
}

TEST(ElementBytes, NumbersBecomeTheBytesThatOneAtATimeDoes) {
  testing::for_each_seed(200, [](unsigned seed) {
    std::mt19937 random(seed);
    compare_with_one_at_a_time<uint8_t>(random, DType::kU8);
    compare_with_one_at_a_time<int8_t>(random, DType::kI8);
  });
}

}  // namespace
}  // namespace berth::cpu
