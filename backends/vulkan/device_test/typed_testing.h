// VulkanTyped: tests of kernels on tensors of any type, which must give the portable kernels' bits, in one form.
#pragma once

#include "backends/vulkan/device_test/tested.h"

namespace berth::vulkan {

inline const DType kWhole[] = {DType::kU8, DType::kI8, DType::kI32, DType::kI64};
inline const DType kAll[] = {DType::kBool, DType::kU8,  DType::kI8,   DType::kI32,
                             DType::kI64,  DType::kF16, DType::kBF16, DType::kF32};

class VulkanTyped : public VulkanKernels {
 protected:
  void SetUp() override {
    VulkanKernels::SetUp();
    exact = one_form = true;
  }
};

inline constexpr int64_t k31 = int64_t{1} << 31;
inline constexpr int64_t k32 = int64_t{1} << 32;

/// Whole numbers whose words are compared, carried and rounded in different ways: equal in the high one, equal in the
/// low one, next to where the low one turns over, and with more digits than a double holds.
inline const std::vector<int64_t> kEdges = [] {
  std::vector<int64_t> made = {INT64_MAX, INT64_MAX - 2, INT64_MIN, INT64_MIN + 1};
  for (const int64_t near : {int64_t{0}, k31, k32, 5 * k32, 5 * k32 + k31, (1 << 21) * k32}) {
    for (const int64_t by : {-3, -1, 0, 1, 3}) {
      made.push_back(near + by);
      made.push_back(-near - by);
    }
  }
  return made;
}();

/// Of a whole type's largest.
inline int64_t large(Dice& dice, DType dtype) {
  switch (dtype) {
    case DType::kU8: return dice.number(250, 255);
    case DType::kI8: return dice.coin() ? -128 : 127;
    case DType::kI32: return dice.coin() ? INT32_MIN : INT32_MAX - dice.number(0, 1);
    case DType::kI64: return kEdges[dice.number(0, static_cast<int64_t>(kEdges.size()) - 1)];
    default: return dice.number(0, 1);
  }
}

inline size_t count_of(const std::vector<int32_t>& sizes) {
  size_t count = 1;
  for (const int32_t size : sizes) count *= static_cast<size_t>(size);
  return count;
}

/// Numbers of a type: small ones that are often equal, and a few of its largest.
inline Array numbers(Dice& dice, DType dtype, const std::vector<int32_t>& sizes, bool any_order = true) {
  const size_t count = count_of(sizes);
  const std::vector<uint8_t> order = any_order ? dice.order(sizes.size()) : std::vector<uint8_t>();
  if (dtype == DType::kF32 || has_16_bits(dtype)) {
    std::vector<double> values(count);
    for (double& value : values) {
      value = static_cast<double>(dice.number(-3, 3));
      if (value == 0 && dice.coin()) value = -0.0;
      if (dtype == DType::kF32 && dice.number(0, 5) == 0) value = std::nextafter(static_cast<float>(value), 9.0F);
    }
    return Array(dtype, sizes, values, order);
  }
  std::vector<int64_t> values(count);
  for (int64_t& value : values) {
    value = dice.number(dtype == DType::kU8 || dtype == DType::kBool ? 0 : -3, 3);
    if (dtype == DType::kBool) value = value > 1 ? 1 : 0;
    if (dice.number(0, 5) == 0) value = large(dice, dtype);
  }
  return integers(dtype, sizes, values, order);
}

}  // namespace berth::vulkan
