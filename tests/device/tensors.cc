// Copies of tensors to a device and back: every element type, bit for bit, with sizes and dimension order.

#include <cstring>

#include "runtime/host/device_tensor.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

std::vector<uint8_t> bytes_of(const Tensor& tensor) {
  const uint8_t* data = tensor.data<uint8_t>();
  return std::vector<uint8_t>(data, data + tensor.nbytes());
}

TEST_P(DeviceTensors, OfEveryElementTypeComeBackBitForBit) {
  const std::vector<int32_t> sizes = {3, 1, 5};
  int types = 0;
  for (int number = 0; number <= kMaxDTypeNumber; ++number) {
    if (!is_valid_dtype(number)) continue;
    const DType dtype = static_cast<DType>(number);
    SCOPED_TRACE(to_string(dtype));
    ++types;
    // Any bits, including NaN.
    const std::vector<uint8_t> bytes = pattern(15 * element_size(dtype), static_cast<uint32_t>(number));
    for (const DeviceIndex index : indices()) {
      Result<OwnedTensor> there = tensor_from(bytes.data(), dtype, sizes, device(index), registry_);
      ASSERT_TRUE(there.ok());
      EXPECT_EQ(there->tensor().device(), device(index));
      Result<OwnedTensor> here = clone_to_host(there->tensor(), registry_);
      ASSERT_TRUE(here.ok());
      EXPECT_EQ(here->tensor().device(), Device());
      EXPECT_EQ(here->tensor().dtype(), dtype);
      EXPECT_EQ(here->tensor().sizes(), (Span<const int32_t>(sizes)));
      EXPECT_EQ(bytes_of(here->tensor()), bytes);
    }
  }
  EXPECT_EQ(types, 36);
}

TEST_P(DeviceTensors, KeepTheirDimensionOrderAndTheirBound) {
  const std::vector<int32_t> sizes = {2, 3, 4, 5};
  const std::vector<uint8_t> order = {0, 2, 3, 1};
  Result<OwnedTensor> first =
      OwnedTensor::make(DType::kI16, sizes, Device(), order, ShapeDynamism::kBounded, registry_);
  ASSERT_TRUE(first.ok());
  const std::vector<uint8_t> bytes = pattern(240, 1);
  std::memcpy(first->tensor().raw(), bytes.data(), bytes.size());
  ASSERT_EQ(first->tensor().resize(std::vector<int32_t>{2, 3, 4, 1}), Error::kOk);
  Result<OwnedTensor> there = clone_to_device(first->tensor(), device(), registry_);
  ASSERT_TRUE(there.ok());
  Result<OwnedTensor> back = clone_to_host(there->tensor(), registry_);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->tensor().dim_order(), (Span<const uint8_t>(order)));
  EXPECT_EQ(back->tensor().dynamism(), ShapeDynamism::kBounded);
  EXPECT_EQ(back->tensor().numel(), 24);
  EXPECT_EQ(bytes_of(back->tensor()), std::vector<uint8_t>(bytes.begin(), bytes.begin() + 48));
}

TEST_P(DeviceTensors, MoveFromOneDeviceToAnother) {
  const float values[] = {1, 2, 3};
  const std::vector<int32_t> sizes = {3};
  for (const DeviceIndex target : indices()) {
    Result<OwnedTensor> first = tensor_from(values, DType::kF32, sizes, device(), registry_);
    ASSERT_TRUE(first.ok());
    Result<OwnedTensor> second = clone_to_device(first->tensor(), device(target), registry_);
    ASSERT_TRUE(second.ok());
    EXPECT_NE(second->tensor().raw(), first->tensor().raw());
    Result<OwnedTensor> back = clone_to_host(second->tensor(), registry_);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->tensor().data<float>()[2], 3);
  }
}

TEST_P(DeviceTensors, OfNothingAndNumbersMoveToo) {
  const std::vector<int32_t> nothing = {0, 4}, number = {};
  const int64_t value = 42;
  Result<OwnedTensor> empty = tensor_from(&value, DType::kI64, nothing, device(), registry_);
  ASSERT_TRUE(empty.ok());
  Result<OwnedTensor> back = clone_to_host(empty->tensor(), registry_);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->tensor().numel(), 0);
  Result<OwnedTensor> scalar = tensor_from(&value, DType::kI64, number, device(), registry_);
  ASSERT_TRUE(scalar.ok());
  Result<OwnedTensor> again = clone_to_host(scalar->tensor(), registry_);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->tensor().data<int64_t>()[0], 42);
}

TEST_P(DeviceTensors, OnAMissingDeviceAreErrors) {
  const float values[] = {1, 2, 3};
  const std::vector<int32_t> sizes = {3};
  const DeviceAllocatorRegistry empty;
  EXPECT_EQ(tensor_from(values, DType::kF32, sizes, device(), empty).error(), Error::kNotFound);
  EXPECT_EQ(tensor_from(values, DType::kF32, sizes, device(-1), registry_).error(), Error::kInvalidArgument);
  EXPECT_EQ(tensor_from(nullptr, DType::kF32, sizes, device(), registry_).error(), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth::device_tests
