// Allocators: aligned memory on each index, freeing it, errors instead of aborts.

#include <cstdint>

#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

TEST_P(DeviceAllocation, HasItsTypeAndItsIndices) {
  EXPECT_NE(allocator().device_type(), DeviceType::kCpu);
  EXPECT_GE(allocator().device_count(), 1);
  EXPECT_EQ(registry_.get_allocator(device_->type()), &allocator());
}

TEST_P(DeviceAllocation, EveryAlignmentIsKept) {
  for (const DeviceIndex index : indices()) {
    for (size_t alignment = 1; alignment <= device_->max_alignment(); alignment *= 2) {
      const Piece odd(allocator(), 1, index, 1);
      const Piece piece(allocator(), 24, index, alignment);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(piece.get()) % alignment, 0u) << alignment;
    }
  }
}

TEST_P(DeviceAllocation, TheDefaultAlignmentIsSixteenOrMore) {
  const Piece odd(allocator(), 3);
  const Piece piece(allocator(), 3);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(piece.get()) % 16, 0u);
}

// Holds row 250.
TEST_P(DeviceAllocation, AnAlignmentThatIsNotAPowerOfTwoIsRefused) {
  for (const size_t alignment : {size_t{0}, size_t{3}, size_t{24}, size_t{257}, SIZE_MAX}) {
    EXPECT_EQ(allocator().allocate(16, 0, alignment).error(), Error::kInvalidArgument) << alignment;
  }
}

// Holds row 250.
TEST_P(DeviceAllocation, AnUnknownIndexIsRefused) {
  for (const int index : {-1, -2, -128, allocator().device_count(), 127}) {
    if (index >= 0 && index < allocator().device_count()) continue;
    const DeviceIndex bad = static_cast<DeviceIndex>(index);
    EXPECT_EQ(allocator().allocate(16, bad).error(), Error::kInvalidArgument) << index;
    uint8_t host[4] = {};
    const Piece piece(allocator(), 16);
    EXPECT_EQ(allocator().copy_host_to_device(piece.get(), host, 4, bad), Error::kInvalidArgument) << index;
    EXPECT_EQ(allocator().copy_device_to_host(host, piece.get(), 4, bad), Error::kInvalidArgument) << index;
    EXPECT_EQ(allocator().copy_device_to_device(piece.get(), bad, piece.get() + 8, 0, 4), Error::kInvalidArgument);
    EXPECT_EQ(allocator().copy_device_to_device(piece.get(), 0, piece.get() + 8, bad, 4), Error::kInvalidArgument);
    EXPECT_EQ(allocator().create_stream(bad).ok() && *allocator().create_stream(bad) != nullptr, false) << index;
  }
}

TEST_P(DeviceAllocation, TooMuchIsAnErrorAndTheNextOneWorks) {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 50}) {
    const Result<void*> memory = allocator().allocate(bytes, 0);
    ASSERT_FALSE(memory.ok());
    EXPECT_EQ(memory.error(), Error::kMemoryAllocationFailed);
  }
  const Piece piece(allocator(), 64);
  const std::vector<uint8_t> bytes = pattern(64, 1);
  ASSERT_EQ(allocator().copy_host_to_device(piece.get(), bytes.data(), 64, 0), Error::kOk);
  EXPECT_EQ(read(piece.get(), 64), bytes);
}

TEST_P(DeviceAllocation, NothingAndNullMayBeFreed) {
  const Result<void*> nothing = allocator().allocate(0, 0);
  ASSERT_TRUE(nothing.ok());
  allocator().deallocate(*nothing, 0);
  allocator().deallocate(nullptr, 0);
}

TEST_P(DeviceAllocation, FreedMemoryCanBeAllocatedAgain) {
  for (int i = 0; i < 64; ++i) {
    const Piece a(allocator(), kMegabyte);
    const Piece b(allocator(), 3 * kMegabyte + 1);
    EXPECT_NE(a.get(), b.get());
  }
}

TEST_P(DeviceAllocation, BlocksDoNotOverlap) {
  const Piece a(allocator(), 1000), b(allocator(), 1000), c(allocator(), 1000);
  const std::vector<uint8_t> of_a = pattern(1000, 1), of_b = pattern(1000, 2), of_c = pattern(1000, 3);
  ASSERT_EQ(allocator().copy_host_to_device(a.get(), of_a.data(), 1000, 0), Error::kOk);
  ASSERT_EQ(allocator().copy_host_to_device(b.get(), of_b.data(), 1000, 0), Error::kOk);
  ASSERT_EQ(allocator().copy_host_to_device(c.get(), of_c.data(), 1000, 0), Error::kOk);
  EXPECT_EQ(read(a.get(), 1000), of_a);
  EXPECT_EQ(read(b.get(), 1000), of_b);
  EXPECT_EQ(read(c.get(), 1000), of_c);
}

}  // namespace
}  // namespace berth::device_tests
