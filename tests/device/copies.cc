// Copies: each direction, size, index and offset in an allocation; and errors.

#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

const size_t kSizes[] = {1, 2, 3, 7, 16, 17, 255, 1024, 4097, 1000003};

// Holds row 248.
TEST_P(DeviceCopies, RoundTrip) {
  for (const DeviceIndex index : indices()) {
    for (const size_t size : kSizes) {
      const Piece piece(allocator(), size, index);
      const std::vector<uint8_t> bytes = pattern(size, 7);
      ASSERT_EQ(allocator().copy_host_to_device(piece.get(), bytes.data(), size, index), Error::kOk);
      EXPECT_EQ(read(piece.get(), size, index), bytes) << size;
    }
  }
}

TEST_P(DeviceCopies, CopyAPartAndLeaveTheRest) {
  const Piece piece(allocator(), 300);
  std::vector<uint8_t> all = pattern(300, 1);
  ASSERT_EQ(allocator().copy_host_to_device(piece.get(), all.data(), 300, 0), Error::kOk);
  const std::vector<uint8_t> part = pattern(101, 2);
  ASSERT_EQ(allocator().copy_host_to_device(piece.get() + 99, part.data(), 101, 0), Error::kOk);
  std::copy(part.begin(), part.end(), all.begin() + 99);
  EXPECT_EQ(read(piece.get(), 300), all);
  EXPECT_EQ(read(piece.get() + 99, 101), part);
}

TEST_P(DeviceCopies, WorkWithinADevice) {
  for (const DeviceIndex index : indices()) {
    for (const size_t size : kSizes) {
      const Piece from(allocator(), size, index), to(allocator(), size + 2, index);
      const std::vector<uint8_t> bytes = pattern(size, 3);
      ASSERT_EQ(allocator().copy_host_to_device(from.get(), bytes.data(), size, index), Error::kOk);
      ASSERT_EQ(allocator().copy_device_to_device(to.get() + 1, index, from.get(), index, size), Error::kOk);
      EXPECT_EQ(read(to.get() + 1, size, index), bytes) << size;
    }
  }
}

TEST_P(DeviceCopies, WorkBetweenAnyTwoDevices) {
  for (const DeviceIndex source : indices()) {
    for (const DeviceIndex target : indices()) {
      const Piece from(allocator(), 4097, source), to(allocator(), 4097, target);
      const std::vector<uint8_t> bytes = pattern(4097, static_cast<uint32_t>(16 * source + target));
      ASSERT_EQ(allocator().copy_host_to_device(from.get(), bytes.data(), 4097, source), Error::kOk);
      ASSERT_EQ(allocator().copy_device_to_device(to.get(), target, from.get(), source, 4097), Error::kOk);
      EXPECT_EQ(read(to.get(), 4097, target), bytes) << int{source} << " to " << int{target};
    }
  }
}

TEST_P(DeviceCopies, OfNothingSucceedAndTouchNothing) {
  const Piece piece(allocator(), 16);
  uint8_t host = 1;
  EXPECT_EQ(allocator().copy_host_to_device(piece.get(), &host, 0, 0), Error::kOk);
  EXPECT_EQ(allocator().copy_device_to_host(&host, piece.get(), 0, 0), Error::kOk);
  EXPECT_EQ(allocator().copy_host_to_device(nullptr, nullptr, 0, 0), Error::kOk);
  EXPECT_EQ(allocator().copy_device_to_host(nullptr, nullptr, 0, 0), Error::kOk);
  EXPECT_EQ(allocator().copy_device_to_device(nullptr, 0, nullptr, 0, 0), Error::kOk);
  EXPECT_EQ(host, 1);
}

// Holds row 249.
TEST_P(DeviceCopies, FromAndToNullAreRefused) {
  const Piece piece(allocator(), 16);
  uint8_t host[16] = {};
  EXPECT_EQ(allocator().copy_host_to_device(nullptr, host, 16, 0), Error::kInvalidArgument);
  EXPECT_EQ(allocator().copy_host_to_device(piece.get(), nullptr, 16, 0), Error::kInvalidArgument);
  EXPECT_EQ(allocator().copy_device_to_host(nullptr, piece.get(), 16, 0), Error::kInvalidArgument);
  EXPECT_EQ(allocator().copy_device_to_host(host, nullptr, 16, 0), Error::kInvalidArgument);
  EXPECT_EQ(allocator().copy_device_to_device(nullptr, 0, piece.get(), 0, 16), Error::kInvalidArgument);
  EXPECT_EQ(allocator().copy_device_to_device(piece.get(), 0, nullptr, 0, 16), Error::kInvalidArgument);
}

TEST_P(DeviceCopies, BeyondABlockAreRefused) {
  if (!device_->checks_bounds()) GTEST_SKIP() << "this device does not check";
  uint8_t host[64] = {};
  uint8_t* gone = nullptr;
  {
    const Piece piece(allocator(), 32);
    gone = piece.get();
    EXPECT_EQ(allocator().copy_host_to_device(piece.get(), host, 33, 0), Error::kInvalidArgument);
    EXPECT_EQ(allocator().copy_host_to_device(piece.get() - 1, host, 2, 0), Error::kInvalidArgument);
    EXPECT_EQ(allocator().copy_device_to_host(host, piece.get() + 31, 2, 0), Error::kInvalidArgument);
    EXPECT_EQ(allocator().copy_device_to_host(host, piece.get() + 1, SIZE_MAX, 0), Error::kInvalidArgument);
    const Piece other(allocator(), 64);
    EXPECT_EQ(allocator().copy_device_to_device(other.get(), 0, piece.get(), 0, 33), Error::kInvalidArgument);
    EXPECT_EQ(allocator().copy_device_to_device(piece.get(), 0, other.get(), 0, 33), Error::kInvalidArgument);
    // Host memory instead of device memory, and the other way round.
    EXPECT_EQ(allocator().copy_host_to_device(host, host + 32, 8, 0), Error::kInvalidArgument);
    EXPECT_EQ(allocator().copy_host_to_device(piece.get(), other.get(), 8, 0), Error::kInvalidArgument);
    EXPECT_EQ(allocator().copy_device_to_host(other.get(), piece.get(), 8, 0), Error::kInvalidArgument);
    if (indices().size() > 1) {
      EXPECT_EQ(allocator().copy_host_to_device(piece.get(), host, 8, 1), Error::kInvalidArgument) << "another's";
    }
  }
  EXPECT_EQ(allocator().copy_host_to_device(gone, host, 8, 0), Error::kInvalidArgument) << "given back";
}

}  // namespace
}  // namespace berth::device_tests
