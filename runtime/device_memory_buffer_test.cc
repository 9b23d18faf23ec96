#include "runtime/device_memory_buffer.h"

#include <gtest/gtest.h>

#include <utility>

#include "runtime/recording_allocator_testing.h"

namespace berth {
namespace {

using testing::kCuda0;
using testing::RecordingAllocator;
using Kind = RecordingAllocator::Kind;

class DeviceMemoryBufferTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(registry.register_allocator(&allocator), Error::kOk); }
  void TearDown() override { EXPECT_EQ(allocator.live(), 0u); }

  DeviceMemoryBuffer make(size_t bytes, Device device = kCuda0) {
    auto buffer = DeviceMemoryBuffer::create(bytes, device, DeviceAllocator::kDefaultAlignment, registry);
    return std::move(buffer).value();
  }

  RecordingAllocator allocator;
  DeviceAllocatorRegistry registry;
};

// Holds row 20, row 25.
TEST_F(DeviceMemoryBufferTest, AnEmptyBufferHasNothingAndFreesNothing) {
  {
    const DeviceMemoryBuffer empty;
    EXPECT_EQ(empty.data(), nullptr);
    EXPECT_EQ(empty.size(), 0u);
    EXPECT_TRUE(empty.as_span().empty());
    EXPECT_EQ(empty.as_span().data(), nullptr);
    EXPECT_EQ(empty.allocator(), nullptr);
  }
  EXPECT_TRUE(allocator.calls().empty());
}

// Holds row 21, row 55.
TEST_F(DeviceMemoryBufferTest, MemoryIsFreedOnceAtTheEndOfTheScope) {
  void* address = nullptr;
  {
    const DeviceMemoryBuffer buffer = make(1024);
    address = buffer.data();
    EXPECT_NE(address, nullptr);
    ASSERT_EQ(allocator.calls().size(), 1u);
    EXPECT_EQ(allocator.calls()[0].bytes, 1024u);
    EXPECT_EQ(allocator.calls()[0].index, 0);
  }
  ASSERT_EQ(allocator.calls().size(), 2u);
  EXPECT_EQ(allocator.calls()[1].kind, Kind::kDeallocate);
  EXPECT_EQ(allocator.calls()[1].target, address);
}

// Holds row 22.
TEST_F(DeviceMemoryBufferTest, WithoutAnAllocatorIsNotFound) {
  const auto sim = DeviceMemoryBuffer::create(16, Device(DeviceType::kSim), 16, registry);
  EXPECT_EQ(sim.error(), Error::kNotFound);
  EXPECT_EQ(DeviceMemoryBuffer::create(16, Device(), 16, registry).error(), Error::kNotFound);
  // The table of the process is asked when none is named, and has no CUDA here.
  EXPECT_EQ(DeviceMemoryBuffer::create(16, kCuda0).error(), Error::kNotFound);
  EXPECT_TRUE(allocator.calls().empty());
}

// Holds row 23.
TEST_F(DeviceMemoryBufferTest, MoveConstructionLeavesTheSourceEmpty) {
  DeviceMemoryBuffer source = make(256, Device(DeviceType::kCuda, 1));
  void* const address = source.data();
  const DeviceMemoryBuffer target(std::move(source));
  EXPECT_EQ(source.data(), nullptr);  // NOLINT(bugprone-use-after-move): that is what is tested.
  EXPECT_EQ(source.size(), 0u);
  EXPECT_EQ(target.data(), address);
  EXPECT_EQ(target.size(), 256u);
  EXPECT_EQ(target.device(), Device(DeviceType::kCuda, 1));
  EXPECT_EQ(allocator.count(Kind::kDeallocate), 0u);
}

// Holds row 24.
TEST_F(DeviceMemoryBufferTest, MoveAssignmentToAnEmptyBufferFreesNothing) {
  DeviceMemoryBuffer source = make(256);
  void* const address = source.data();
  DeviceMemoryBuffer target;
  target = std::move(source);
  EXPECT_EQ(source.data(), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(target.data(), address);
  EXPECT_EQ(target.size(), 256u);
  EXPECT_EQ(allocator.count(Kind::kDeallocate), 0u);
}

// Holds row 28.
TEST_F(DeviceMemoryBufferTest, MoveAssignmentFreesTheOldMemoryOnce) {
  DeviceMemoryBuffer source = make(64);
  DeviceMemoryBuffer target = make(128);
  void* const kept = source.data();
  void* const lost = target.data();
  target = std::move(source);
  ASSERT_EQ(allocator.count(Kind::kDeallocate), 1u);
  EXPECT_EQ(allocator.calls(Kind::kDeallocate)[0].target, lost);
  EXPECT_EQ(target.data(), kept);
  DeviceMemoryBuffer& same = target;
  target = std::move(same);
  EXPECT_EQ(target.data(), kept);
  EXPECT_EQ(target.size(), 64u);
  EXPECT_EQ(allocator.count(Kind::kDeallocate), 1u);
}

// Holds row 26.
TEST_F(DeviceMemoryBufferTest, TheSpanIsTheDeviceAddress) {
  const DeviceMemoryBuffer buffer = make(2048);
  EXPECT_EQ(buffer.as_span().data(), buffer.data());
  EXPECT_EQ(buffer.as_span().size(), 2048u);
}

// Holds row 27.
TEST_F(DeviceMemoryBufferTest, AlignmentReachesTheAllocator) {
  { const DeviceMemoryBuffer buffer = make(100); }
  const auto aligned = DeviceMemoryBuffer::create(100, kCuda0, 512, registry);
  ASSERT_TRUE(aligned.ok());
  const auto calls = allocator.calls(Kind::kAllocate);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].alignment, DeviceAllocator::kDefaultAlignment);
  EXPECT_EQ(calls[1].alignment, 512u);
}

TEST_F(DeviceMemoryBufferTest, AFailedAllocationIsAnErrorAndNoBuffer) {
  allocator.fail_allocation = 1;
  EXPECT_EQ(DeviceMemoryBuffer::create(100, kCuda0, 16, registry).error(), Error::kMemoryAllocationFailed);
  EXPECT_EQ(DeviceMemoryBuffer::create(100, Device(DeviceType::kCuda, 2), 16, registry).error(),
            Error::kInvalidArgument);
  EXPECT_EQ(DeviceMemoryBuffer::create(100, kCuda0, 24, registry).error(), Error::kInvalidArgument);
}

}  // namespace
}  // namespace berth
