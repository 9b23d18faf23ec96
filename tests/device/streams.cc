// Streams, also of devices without them: order on the device, and host memory that may be reused when a call returns.

#include <algorithm>

#include "tests/device/conformance.h"

namespace berth::device_tests {
namespace {

constexpr size_t kBytes = 1 << 20;

// A stream that is destroyed at the end of a test.
class Stream {
 public:
  Stream(DeviceAllocator& allocator, DeviceIndex index) : allocator_(allocator), index_(index) {
    const Result<DeviceStream*> stream = allocator.create_stream(index);
    EXPECT_TRUE(stream.ok());
    if (stream.ok()) stream_ = *stream;
  }
  ~Stream() { allocator_.destroy_stream(stream_, index_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  DeviceStream* get() const { return stream_; }

 private:
  DeviceAllocator& allocator_;
  DeviceIndex index_;
  DeviceStream* stream_ = nullptr;
};

// Holds row 248.
TEST_P(DeviceStreams, CopiesRunInOrder) {
  for (const DeviceIndex index : indices()) {
    const Stream stream(allocator(), index);
    const Piece a(allocator(), kBytes, index), b(allocator(), kBytes, index);
    std::vector<uint8_t> host = pattern(kBytes, 1);
    const std::vector<uint8_t> first = host;
    ASSERT_EQ(allocator().copy_host_to_device(a.get(), host.data(), kBytes, index, stream.get()), Error::kOk);
    // The call returned: its source is the caller's again.
    std::fill(host.begin(), host.end(), uint8_t{0xee});
    ASSERT_EQ(allocator().copy_device_to_device(b.get(), index, a.get(), index, kBytes, stream.get()), Error::kOk);
    ASSERT_EQ(allocator().copy_host_to_device(a.get(), host.data(), kBytes, index, stream.get()), Error::kOk);
    std::vector<uint8_t> back(kBytes);
    ASSERT_EQ(allocator().copy_device_to_host(back.data(), b.get(), kBytes, index, stream.get()), Error::kOk);
    EXPECT_EQ(back, first);
    ASSERT_EQ(allocator().copy_device_to_host(back.data(), a.get(), kBytes, index, stream.get()), Error::kOk);
    EXPECT_EQ(back, host);
  }
}

// Copies to the host that are begun, in all sizes, while their source is overwritten: each is what the source was, when
// it is finished, or a later one, or the stream.
TEST_P(DeviceStreams, ACopyToTheHostThatWasBegunArrives) {
  const size_t sizes[] = {1, 100, 4096, kBytes / 4};
  for (const DeviceIndex index : indices()) {
    const Stream stream(allocator(), index);
    const Piece source(allocator(), 6 * kBytes, index);
    std::vector<std::vector<uint8_t>> expected, back;
    std::vector<uint64_t> numbers;
    for (uint32_t i = 0; i < 40; ++i) {
      const size_t bytes = i == 7 ? 5 * kBytes + 3 : sizes[i * 7 % 4];
      expected.push_back(pattern(bytes, i));
      back.emplace_back(bytes);
      ASSERT_EQ(allocator().copy_host_to_device(source.get(), expected[i].data(), bytes, index, stream.get()),
                Error::kOk);
      const auto begun = allocator().begin_copy_to_host(back[i].data(), source.get(), bytes, index, stream.get());
      ASSERT_TRUE(begun.ok());
      numbers.push_back(*begun);
      if (*begun == 0) {
        EXPECT_EQ(back[i], expected[i]) << i;
      }
      if (i % 9 != 8 || numbers[i - 1] == 0) continue;
      ASSERT_EQ(allocator().finish_copy_to_host(numbers[i - 1], index, stream.get()), Error::kOk);
      for (uint32_t k = 0; k < i; ++k) EXPECT_EQ(back[k], expected[k]) << k;
    }
    ASSERT_EQ(allocator().synchronize(stream.get(), index), Error::kOk);
    EXPECT_EQ(back, expected);
  }
}

// Its target is not written later on, whether it was waited for or not.
TEST_P(DeviceStreams, NoCopyToTheHostArrivesTwiceOrAfterItsStream) {
  const Piece source(allocator(), kBytes);
  const std::vector<uint8_t> bytes = pattern(kBytes, 6);
  std::vector<uint8_t> first(kBytes), second(kBytes);
  {
    const Stream stream(allocator(), 0);
    ASSERT_EQ(allocator().copy_host_to_device(source.get(), bytes.data(), kBytes, 0, stream.get()), Error::kOk);
    const auto begun = allocator().begin_copy_to_host(first.data(), source.get(), kBytes, 0, stream.get());
    ASSERT_TRUE(begun.ok());
    if (*begun != 0) {
      ASSERT_EQ(allocator().finish_copy_to_host(*begun, 0, stream.get()), Error::kOk);
    }
    EXPECT_EQ(first, bytes);
    first.assign(kBytes, 1);
    ASSERT_TRUE(allocator().begin_copy_to_host(second.data(), source.get(), kBytes, 0, stream.get()).ok());
  }
  EXPECT_EQ(second, bytes);
  EXPECT_EQ(first, std::vector<uint8_t>(kBytes, 1));
}

TEST_P(DeviceStreams, SynchronizeReturnsWithTheWorkDone) {
  const Stream stream(allocator(), 0);
  const Piece a(allocator(), kBytes), b(allocator(), kBytes);
  const std::vector<uint8_t> bytes = pattern(kBytes, 2);
  ASSERT_EQ(allocator().copy_host_to_device(a.get(), bytes.data(), kBytes, 0, stream.get()), Error::kOk);
  ASSERT_EQ(allocator().copy_device_to_device(b.get(), 0, a.get(), 0, kBytes, stream.get()), Error::kOk);
  ASSERT_EQ(allocator().synchronize(stream.get(), 0), Error::kOk);
  EXPECT_EQ(read(b.get(), kBytes), bytes);
  EXPECT_EQ(allocator().synchronize(nullptr, 0), Error::kOk);
}

TEST_P(DeviceStreams, OneWaitsForAnother) {
  for (const DeviceIndex source : indices()) {
    for (const DeviceIndex target : indices()) {
      const Stream from(allocator(), source), to(allocator(), target);
      const Piece a(allocator(), kBytes, source), b(allocator(), kBytes, source), c(allocator(), kBytes, target);
      const std::vector<uint8_t> bytes = pattern(kBytes, 3);
      ASSERT_EQ(allocator().copy_host_to_device(a.get(), bytes.data(), kBytes, source, from.get()), Error::kOk);
      ASSERT_EQ(allocator().copy_device_to_device(b.get(), source, a.get(), source, kBytes, from.get()), Error::kOk);
      ASSERT_EQ(allocator().record(from.get(), source), Error::kOk);
      ASSERT_EQ(allocator().wait(to.get(), target, from.get(), source), Error::kOk);
      ASSERT_EQ(allocator().copy_device_to_device(c.get(), target, b.get(), source, kBytes, to.get()), Error::kOk);
      ASSERT_EQ(allocator().synchronize(to.get(), target), Error::kOk);
      EXPECT_EQ(read(c.get(), kBytes, target), bytes);
    }
  }
}

TEST_P(DeviceStreams, WaitingWithoutAnEventIsNoWait) {
  const Stream a(allocator(), 0), b(allocator(), 0);
  EXPECT_EQ(allocator().wait(a.get(), 0, b.get(), 0), Error::kOk);
  EXPECT_EQ(allocator().record(a.get(), 0), Error::kOk);
  EXPECT_EQ(allocator().record(a.get(), 0), Error::kOk);
  EXPECT_EQ(allocator().wait(b.get(), 0, a.get(), 0), Error::kOk);
  EXPECT_EQ(allocator().wait(b.get(), 0, a.get(), 0), Error::kOk);
  EXPECT_EQ(allocator().wait(a.get(), 0, a.get(), 0), Error::kOk);
  EXPECT_EQ(allocator().synchronize(a.get(), 0), Error::kOk);
}

TEST_P(DeviceStreams, DestroyIgnoresNull) { allocator().destroy_stream(nullptr, 0); }

TEST_P(DeviceStreams, FreeingMemoryWaitsForItsWork) {
  const Stream stream(allocator(), 0);
  const Piece target(allocator(), kBytes);
  const std::vector<uint8_t> bytes = pattern(kBytes, 4);
  {
    const Piece source(allocator(), kBytes);
    ASSERT_EQ(allocator().copy_host_to_device(source.get(), bytes.data(), kBytes, 0, stream.get()), Error::kOk);
    ASSERT_EQ(allocator().copy_device_to_device(target.get(), 0, source.get(), 0, kBytes, stream.get()), Error::kOk);
  }
  // Reusing these bytes must not disturb the copy.
  const Piece next(allocator(), kBytes);
  const std::vector<uint8_t> other = pattern(kBytes, 5);
  ASSERT_EQ(allocator().copy_host_to_device(next.get(), other.data(), kBytes, 0), Error::kOk);
  ASSERT_EQ(allocator().synchronize(stream.get(), 0), Error::kOk);
  EXPECT_EQ(read(target.get(), kBytes), bytes);
}

}  // namespace
}  // namespace berth::device_tests
