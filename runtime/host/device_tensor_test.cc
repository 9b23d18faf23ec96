#include "runtime/host/device_tensor.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/recording_allocator_testing.h"

namespace berth {
namespace {

using testing::kCuda0;
using testing::RecordingAllocator;
using Kind = RecordingAllocator::Kind;

constexpr Device kCuda1 = Device(DeviceType::kCuda, 1);
constexpr Device kSim0 = Device(DeviceType::kSim, 0);

class DeviceTensorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(registry_.register_allocator(&cuda_), Error::kOk);
    ASSERT_EQ(registry_.register_allocator(&sim_), Error::kOk);
  }
  void TearDown() override {
    EXPECT_EQ(cuda_.live(), 0u);
    EXPECT_EQ(sim_.live(), 0u);
  }

  // A tensor on the host whose bytes are 7, 10, 13, …
  OwnedTensor host(DType dtype, std::vector<int32_t> sizes, std::vector<uint8_t> order = {},
                   ShapeDynamism dynamism = ShapeDynamism::kStatic) {
    OwnedTensor made = OwnedTensor::make(dtype, sizes, Device(), order, dynamism, registry_).value();
    uint8_t* bytes = static_cast<uint8_t*>(made.tensor().raw());
    for (size_t i = 0; i < made.tensor().nbytes(); ++i) bytes[i] = static_cast<uint8_t>(3 * i + 7);
    return made;
  }

  void expect_same(const Tensor& a, const Tensor& b) {
    EXPECT_EQ(a.dtype(), b.dtype());
    EXPECT_EQ(a.sizes(), b.sizes());
    EXPECT_EQ(a.dim_order(), b.dim_order());
    EXPECT_EQ(a.strides(), b.strides());
    EXPECT_EQ(a.dynamism(), b.dynamism());
  }

  RecordingAllocator cuda_;
  RecordingAllocator sim_{DeviceType::kSim};
  DeviceAllocatorRegistry registry_;
};

// Holds row 79.
TEST_F(DeviceTensorTest, ACloneOnADeviceIsNewMemoryThere) {
  const OwnedTensor source = host(DType::kF32, {2, 3});
  const auto there = clone_to_device(source.tensor(), kCuda0, registry_);
  ASSERT_TRUE(there.ok());
  expect_same(there->tensor(), source.tensor());
  EXPECT_EQ(there->tensor().device(), kCuda0);
  EXPECT_NE(there->tensor().raw(), source.tensor().raw());
  EXPECT_EQ(cuda_.count(Kind::kAllocate), 1u);
  EXPECT_EQ(cuda_.count(Kind::kHostToDevice), 1u);
  EXPECT_EQ(cuda_.calls(Kind::kHostToDevice)[0].bytes, 24u);
  EXPECT_EQ(cuda_.copies(), 1u);
}

// Holds row 79.
TEST_F(DeviceTensorTest, NumbersGoDirectlyToADevice) {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const int32_t sizes[] = {2, 3};
  const auto there = tensor_from(numbers.data(), DType::kF32, sizes, kCuda1, registry_);
  ASSERT_TRUE(there.ok());
  EXPECT_EQ(there->tensor().device(), kCuda1);
  EXPECT_EQ(std::memcmp(RecordingAllocator::host(there->tensor().raw()), numbers.data(), 24), 0);
  EXPECT_EQ(cuda_.calls(Kind::kHostToDevice).at(0).source, numbers.data());
  const auto here = tensor_from(numbers.data(), DType::kF32, sizes, Device(), registry_);
  ASSERT_TRUE(here.ok());
  EXPECT_EQ(std::memcmp(here->tensor().raw(), numbers.data(), 24), 0);
  EXPECT_EQ(tensor_from(nullptr, DType::kF32, sizes, kCuda0, registry_).error(), Error::kInvalidArgument);
}

// Holds row 80, row 82.
TEST_F(DeviceTensorTest, RoundTripsAreBitEqualForEveryElementTypeAndShape) {
  const std::vector<std::vector<int32_t>> shapes = {{}, {1}, {2, 3}, {2, 3, 4}, {10000}, {0, 3}};
  for (int number = 0; number <= kMaxDTypeNumber; ++number) {
    if (!is_valid_dtype(number)) continue;
    for (const std::vector<int32_t>& sizes : shapes) {
      const OwnedTensor source = host(static_cast<DType>(number), sizes);
      const auto there = clone_to_device(source.tensor(), kCuda0, registry_);
      ASSERT_TRUE(there.ok());
      const size_t down = cuda_.count(Kind::kDeviceToHost);
      const auto back = clone_to_host(there->tensor(), registry_);
      ASSERT_TRUE(back.ok());
      expect_same(back->tensor(), source.tensor());
      EXPECT_EQ(back->tensor().device(), Device());
      const size_t bytes = source.tensor().nbytes();
      if (bytes == 0) continue;
      EXPECT_EQ(cuda_.count(Kind::kDeviceToHost), down + 1);
      EXPECT_EQ(std::memcmp(back->tensor().raw(), source.tensor().raw(), bytes), 0);
      EXPECT_NE(back->tensor().raw(), source.tensor().raw());
      EXPECT_NE(back->tensor().raw(), there->tensor().raw());
      EXPECT_NE(there->tensor().raw(), source.tensor().raw());
    }
  }
}

// Holds row 81.
TEST_F(DeviceTensorTest, KeepsItsDynamismAndDimensionOrder) {
  for (const ShapeDynamism dynamism : {ShapeDynamism::kStatic, ShapeDynamism::kBounded}) {
    const OwnedTensor source = host(DType::kI16, {2, 3, 4}, {0, 2, 1}, dynamism);
    const auto there = clone_to_device(source.tensor(), kCuda0, registry_);
    ASSERT_TRUE(there.ok());
    expect_same(there->tensor(), source.tensor());
    auto back = clone_to_host(there->tensor(), registry_);
    ASSERT_TRUE(back.ok());
    expect_same(back->tensor(), source.tensor());
    const int32_t smaller[] = {2, 1, 4};
    EXPECT_EQ(back->tensor().resize(smaller),
              dynamism == ShapeDynamism::kStatic ? Error::kInvalidArgument : Error::kOk);
  }
}

// Holds row 83.
TEST_F(DeviceTensorTest, KeepsTheDeviceIndex) {
  const OwnedTensor source = host(DType::kF32, {4});
  {
    const auto there = clone_to_device(source.tensor(), kCuda1, registry_);
    ASSERT_TRUE(there.ok());
    EXPECT_EQ(there->tensor().device(), kCuda1);
    ASSERT_TRUE(clone_to_host(there->tensor(), registry_).ok());
  }
  for (const auto& call : cuda_.calls()) EXPECT_EQ(call.index, 1);
}

// Holds row 84.
TEST_F(DeviceTensorTest, FreesItsMemoryOnce) {
  const OwnedTensor source = host(DType::kF32, {4});
  {
    auto there = clone_to_device(source.tensor(), kCuda0, registry_);
    ASSERT_TRUE(there.ok());
    const Tensor* const address = &there->tensor();
    const OwnedTensor moved = std::move(*there);
    EXPECT_EQ(&moved.tensor(), address);
    EXPECT_EQ(cuda_.count(Kind::kDeallocate), 0u);
  }
  EXPECT_EQ(cuda_.count(Kind::kDeallocate), 1u);
}

// Holds row 85.
TEST_F(DeviceTensorTest, ClonesOfOneSourceAreIndependent) {
  const OwnedTensor source = host(DType::kF32, {4});
  const auto a = clone_to_device(source.tensor(), kCuda0, registry_);
  const auto b = clone_to_device(source.tensor(), kCuda0, registry_);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->tensor().raw(), b->tensor().raw());
  EXPECT_EQ(cuda_.count(Kind::kAllocate), 2u);
}

// Holds row 86.
TEST_F(DeviceTensorTest, HostToHostAndNullAreErrors) {
  const OwnedTensor source = host(DType::kF32, {4});
  EXPECT_EQ(clone_to_device(source.tensor(), Device(), registry_).error(), Error::kInvalidArgument);
  EXPECT_EQ(clone_to_host(source.tensor(), registry_).error(), Error::kInvalidArgument);
  int32_t sizes[] = {4};
  const uint8_t order[] = {0};
  int64_t strides[1];
  const Tensor nowhere(DType::kF32, 1, sizes, order, strides, nullptr);
  EXPECT_EQ(clone_to_device(nowhere, kCuda0, registry_).error(), Error::kInvalidArgument);
  EXPECT_TRUE(cuda_.calls().empty());
  const DeviceAllocatorRegistry empty;
  EXPECT_EQ(clone_to_device(source.tensor(), kCuda0, empty).error(), Error::kNotFound);
}

// Holds row 86.
TEST_F(DeviceTensorTest, CopiesBetweenDevicesDirectlyWherePossible) {
  const OwnedTensor source = host(DType::kF64, {3, 3});
  const auto first = clone_to_device(source.tensor(), kCuda0, registry_);
  ASSERT_TRUE(first.ok());
  const auto second = clone_to_device(first->tensor(), kCuda1, registry_);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->tensor().device(), kCuda1);
  EXPECT_EQ(cuda_.count(Kind::kDeviceToDevice), 1u);
  EXPECT_EQ(cuda_.count(Kind::kDeviceToHost), 0u);
  const auto third = clone_to_device(second->tensor(), kSim0, registry_);
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(cuda_.count(Kind::kDeviceToHost), 1u);
  EXPECT_EQ(sim_.count(Kind::kHostToDevice), 1u);
  const auto back = clone_to_host(third->tensor(), registry_);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(std::memcmp(back->tensor().raw(), source.tensor().raw(), 72), 0);
}

TEST_F(DeviceTensorTest, AnyFailureIsAnErrorAndLeaksNothing) {
  const OwnedTensor source = host(DType::kF32, {4});
  cuda_.fail_allocation = 1;
  EXPECT_EQ(clone_to_device(source.tensor(), kCuda0, registry_).error(), Error::kMemoryAllocationFailed);
  cuda_.fail_copy = 1;
  EXPECT_EQ(clone_to_device(source.tensor(), kCuda0, registry_).error(), Error::kInternal);
  EXPECT_EQ(cuda_.live(), 0u);
  const auto there = clone_to_device(source.tensor(), kCuda0, registry_);
  ASSERT_TRUE(there.ok());
  cuda_.fail_copy = 3;
  EXPECT_EQ(clone_to_host(there->tensor(), registry_).error(), Error::kInternal);
  cuda_.fail_copy = 4;
  EXPECT_EQ(clone_to_device(there->tensor(), kSim0, registry_).error(), Error::kInternal);
  EXPECT_EQ(sim_.live(), 0u);
}

TEST_F(DeviceTensorTest, InvalidSizesAreRefused) {
  const auto made = [this](DType dtype, std::vector<int32_t> sizes, std::vector<uint8_t> order) {
    const auto tensor = OwnedTensor::make(dtype, sizes, kCuda0, order, ShapeDynamism::kStatic, registry_);
    return tensor.ok() ? Error::kOk : tensor.error();
  };
  EXPECT_EQ(made(DType::kF32, {-1}, {0}), Error::kInvalidArgument);
  EXPECT_EQ(made(DType::kF32, {0, -1}, {0, 1}), Error::kInvalidArgument);
  EXPECT_EQ(made(DType::kF32, {INT32_MAX, INT32_MAX, INT32_MAX}, {0, 1, 2}), Error::kInvalidArgument);
  EXPECT_EQ(made(DType::kF32, {2, 2}, {0, 0}), Error::kInvalidArgument);
  EXPECT_EQ(made(DType::kF32, {2, 2}, {0, 2}), Error::kInvalidArgument);
  EXPECT_EQ(made(DType::kF32, {2, 2}, {0}), Error::kInvalidArgument);
  EXPECT_EQ(made(static_cast<DType>(30), {2}, {0}), Error::kInvalidArgument);
  EXPECT_EQ(made(DType::kF32, std::vector<int32_t>(17, 1), {}), Error::kInvalidArgument);
  EXPECT_TRUE(cuda_.calls().empty());
}

}  // namespace
}  // namespace berth
