// What rows of any type come to, beside the portable kernels: whole numbers to the bit.

#include "backends/vulkan/device_test/typed_testing.h"

namespace berth::vulkan {
namespace {

[[maybe_unused]] const ::testing::Environment* const kDevice = ::testing::AddGlobalTestEnvironment(new TestedDevice);

constexpr uint32_t kCases = 2;

// Rows of fewer elements than a group has invocations, of more, and of some that are equal.
TEST_F(VulkanTyped, WhatRowsComeTo) {
  for (uint32_t seed = 0; seed < 3 * kCases; ++seed) {
    Dice dice(seed);
    for (const DType dtype : kAll) {
      SCOPED_TRACE(to_string(dtype));
      std::vector<int32_t> s = {dice.size(3), dice.size(4), dice.size(5)};
      s[seed % 3] = static_cast<int32_t>(dice.number(1, seed % 2 == 0 ? 20 : 400));
      const Array x = numbers(dice, dtype, s);
      const int dim = static_cast<int>(dice.number(-3, 2));
      const bool keeps = dice.coin();
      std::vector<int32_t> left = s;
      if (keeps) left[dim < 0 ? dim + 3 : dim] = 1;
      if (!keeps) left.erase(left.begin() + (dim < 0 ? dim + 3 : dim));
      const Array some(DType::kBool, left, {}, dice.order(left.size())), one(DType::kBool, {});
      EXPECT_SAME(any_out, {x, dim, keeps, some}, {x}, {some});
      EXPECT_SAME(any_all_out, {x, one}, {x}, {one});
      const Array row(DType::kBool, {s[1]});
      EXPECT_SAME(any_dims_out, {x, std::vector<int64_t>{0, 2}, false, row}, {x}, {row});
      if (dtype == DType::kBool) continue;
      const std::vector<uint8_t> order = dice.order(left.size());
      const Array places(DType::kI64, left, {}, order), place(DType::kI64, {});
      EXPECT_SAME(argmax_out, {x, dim, keeps, places}, {x}, {places});
      EXPECT_SAME(argmin_out, {x, dim, keeps, places}, {x}, {places});
      EXPECT_SAME(argmax_out, {x, nullptr, false, place}, {x}, {place});
      const Array values(dtype, left, {}, order);
      EXPECT_SAME(max_dim_max, {x, dim, keeps, values, places}, {x}, {values, places});
      EXPECT_SAME(min_dim_min, {x, dim, keeps, values, places}, {x}, {values, places});
      if (!is_integer(dtype)) continue;
      const Array all(DType::kI64, {}), folded(DType::kI64, left), running(DType::kI64, s, {}, dice.order(3));
      EXPECT_SAME(prod_out, {x, nullptr, all}, {x}, {all});
      EXPECT_SAME(prod_int_out, {x, dim, keeps, nullptr, folded}, {x}, {folded});
      EXPECT_SAME(cumsum_out, {x, dim, nullptr, running}, {x}, {running});
    }
    if (HasFailure()) return;
  }
}

TEST_F(VulkanTyped, RealNumbersThatRowsComeTo) {
  exact = false;
  for (const int32_t length : {7, 300}) {
    Dice dice(static_cast<uint32_t>(length));
    const Array x = dice.array({3, length, 2}, true), y = room({3, length, 2}), folded = room({3, 2}), all = room({});
    EXPECT_SAME(cumsum_out, {x, 1, nullptr, y}, {x}, {y});
    EXPECT_SAME(prod_int_out, {x, 1, false, nullptr, folded}, {x}, {folded});
    EXPECT_SAME(prod_out, {x, nullptr, all}, {x}, {all});
    const Array small = integers(DType::kI8, {4}, {1, -2, 3, 4}), real = room({4});
    EXPECT_SAME(cumsum_out, {small, 0, static_cast<int64_t>(DType::kF32), real}, {small}, {real});
  }
}

TEST_F(VulkanTyped, NotANumberIsTheFirstExtreme) {
  const Array x(DType::kF32, {2, 4}, {1, NAN, 3, NAN, -1, 2, INFINITY, 2}), values = room({2}),
                                                                            places(DType::kI64, {2});
  EXPECT_SAME(max_dim_max, {x, 1, false, values, places}, {x}, {values, places});
  EXPECT_SAME(min_dim_min, {x, 1, false, values, places}, {x}, {values, places});
}

}  // namespace
}  // namespace berth::vulkan
