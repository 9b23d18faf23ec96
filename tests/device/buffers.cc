// DeviceMemoryBuffer on a real allocator: everything is freed exactly once.

#include "runtime/device_memory_buffer.h"
#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

// Holds row 55.
TEST_P(DeviceBuffers, HoldMemoryOfTheirDevice) {
  for (const DeviceIndex index : indices()) {
    Result<DeviceMemoryBuffer> buffer = DeviceMemoryBuffer::create(48, device(index), 64, registry_);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->size(), 48u);
    EXPECT_EQ(buffer->device(), device(index));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    const std::vector<uint8_t> bytes = pattern(48, 1);
    ASSERT_EQ(allocator().copy_host_to_device(buffer->data(), bytes.data(), 48, index), Error::kOk);
    DeviceMemoryBuffer moved = std::move(*buffer);
    EXPECT_EQ(read(moved.data(), 48, index), bytes);
    EXPECT_EQ(buffer->data(), nullptr);
    moved = DeviceMemoryBuffer();
    EXPECT_EQ(moved.size(), 0u);
  }
}

TEST_P(DeviceBuffers, PassOnErrorsOfTheAllocator) {
  EXPECT_EQ(DeviceMemoryBuffer::create(SIZE_MAX / 2, device(), 16, registry_).error(), Error::kMemoryAllocationFailed);
  EXPECT_EQ(DeviceMemoryBuffer::create(16, device(), 3, registry_).error(), Error::kInvalidArgument);
  EXPECT_EQ(DeviceMemoryBuffer::create(16, device(-1), 16, registry_).error(), Error::kInvalidArgument);
  const DeviceAllocatorRegistry empty;
  EXPECT_EQ(DeviceMemoryBuffer::create(16, device(), 16, empty).error(), Error::kNotFound);
}

}  // namespace
}  // namespace berth::device_tests
