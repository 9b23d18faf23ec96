#include "runtime/tensor.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

struct Arrays {
  int32_t sizes[2] = {3, 2};
  uint8_t order[2] = {0, 1};
  int64_t strides[2] = {};
  float data[6] = {};

  Tensor on(Device device, ShapeDynamism dynamism = ShapeDynamism::kStatic) {
    return Tensor(DType::kF32, 2, sizes, order, strides, data, dynamism, device);
  }
};

// Holds row 16.
TEST(Tensor, IsOnTheHostByDefault) {
  Arrays arrays;
  const Tensor tensor(DType::kF32, 2, arrays.sizes, arrays.order, arrays.strides, arrays.data);
  EXPECT_EQ(tensor.device(), Device(DeviceType::kCpu, 0));
  EXPECT_EQ(Tensor().device(), Device());
}

// Holds row 17.
TEST(Tensor, HasTypeAndIndexOfItsDevice) {
  Arrays arrays;
  for (const Device device : {Device(), Device(DeviceType::kCuda, 0), Device(DeviceType::kCuda, 1)}) {
    const Tensor tensor = arrays.on(device);
    EXPECT_EQ(tensor.device().type, device.type);
    EXPECT_EQ(tensor.device().index, device.index);
    EXPECT_EQ(tensor.device(), device);
  }
}

// Holds row 18.
TEST(Tensor, ResizingKeepsTheDevice) {
  Arrays arrays;
  Tensor tensor = arrays.on(Device(DeviceType::kCuda, 1), ShapeDynamism::kBounded);
  const int32_t smaller[] = {2, 2};
  ASSERT_EQ(tensor.resize(smaller), Error::kOk);
  EXPECT_EQ(tensor.device(), Device(DeviceType::kCuda, 1));
  const int32_t larger[] = {4, 2};
  EXPECT_EQ(tensor.resize(larger), Error::kInvalidArgument);
  EXPECT_EQ(tensor.device(), Device(DeviceType::kCuda, 1));
}

// The strides that PyTorch gives tensors of these sizes and memory formats.
// Holds row 213.
TEST(Tensor, StridesFollowTheDimensionOrderAndAreNeverZero) {
  struct Case {
    std::vector<int32_t> sizes;
    std::vector<uint8_t> order;
    std::vector<int64_t> strides;
  };
  const Case kCases[] = {
      {{}, {}, {}},
      {{7}, {0}, {1}},
      {{2, 3, 4, 5}, {0, 1, 2, 3}, {60, 20, 5, 1}},
      {{2, 3, 4, 5}, {0, 2, 3, 1}, {60, 1, 15, 3}},
      {{2, 3, 4, 5, 6}, {0, 2, 3, 4, 1}, {360, 1, 90, 18, 3}},
      {{2, 3}, {1, 0}, {1, 2}},
      // A size of 1 leaves the order open to code that has only strides; here it is said.
      {{1, 3, 1, 1}, {0, 2, 3, 1}, {3, 1, 3, 3}},
      {{1, 3, 1, 1}, {0, 1, 2, 3}, {3, 1, 1, 1}},
      {{2, 0, 3}, {0, 1, 2}, {3, 3, 1}},
  };
  for (Case kase : kCases) {
    SCOPED_TRACE(::testing::PrintToString(kase.sizes) + " in order " + ::testing::PrintToString(kase.order));
    std::vector<int64_t> strides(kase.sizes.size(), -1);
    const Tensor tensor(DType::kF32, static_cast<int>(kase.sizes.size()), kase.sizes.data(), kase.order.data(),
                        strides.data(), nullptr);
    EXPECT_EQ(strides, kase.strides);
  }
}

// Holds row 19.
TEST(Tensor, TheDeviceTakesNoSpace) {
  struct WithoutDevice {
    void* pointers[4];
    int64_t counts[2];
    uint8_t dtype, rank, dynamism, contiguous;
  };
  EXPECT_EQ(sizeof(Tensor), sizeof(WithoutDevice));
}

}  // namespace
}  // namespace berth
