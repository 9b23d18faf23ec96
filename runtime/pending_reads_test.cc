#include "runtime/pending_reads.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/no_memory_allocator_testing.h"

namespace berth {
namespace {

// Streams are numbers; it keeps what they were told.
class LoggedWaits final : public testing::NoMemoryAllocator {
 public:
  Error record(DeviceStream*, DeviceIndex index) override {
    log += "mark " + std::to_string(index) + "; ";
    return fails;
  }
  Error wait(DeviceStream*, DeviceIndex index, DeviceStream*, DeviceIndex other) override {
    log += std::to_string(index) + " waits for " + std::to_string(other) + "; ";
    return fails;
  }

  std::string log;
  Error fails = Error::kOk;
};

class PendingReadsTest : public ::testing::Test {
 protected:
  static Device device(DeviceIndex index) { return Device{DeviceType::kSim, index}; }
  std::string log() { return std::exchange(allocator_.log, ""); }

  LoggedWaits allocator_;
  DeviceUse first_{device(0), &allocator_, nullptr};
  DeviceUse second_{device(1), &allocator_, nullptr};
  uint8_t bytes_[64] = {};
  PendingReads pending_;
};

TEST_F(PendingReadsTest, WhatOverwritesTheSourceWaitsOnceAndNothingElseDoes) {
  EXPECT_TRUE(pending_.empty());
  ASSERT_EQ(pending_.add(first_, second_, bytes_ + 16, 16), Error::kOk);
  EXPECT_EQ(log(), "mark 1; ");
  EXPECT_EQ(pending_.before_write(device(0), bytes_, 16), Error::kOk);
  EXPECT_EQ(pending_.before_write(device(0), bytes_ + 32, 32), Error::kOk);
  EXPECT_EQ(pending_.before_write(device(1), bytes_, 64), Error::kOk);
  EXPECT_EQ(log(), "");
  EXPECT_FALSE(pending_.empty());
  EXPECT_EQ(pending_.before_write(device(0), bytes_ + 31, 1), Error::kOk);
  EXPECT_EQ(log(), "0 waits for 1; ");
  EXPECT_TRUE(pending_.empty());
  EXPECT_EQ(pending_.before_write(device(0), bytes_, 64), Error::kOk);
  EXPECT_EQ(log(), "");
}

TEST_F(PendingReadsTest, EachCopyOfTheBytesIsWaitedFor) {
  DeviceUse third{device(2), &allocator_, nullptr};
  ASSERT_EQ(pending_.add(first_, second_, bytes_, 16), Error::kOk);
  ASSERT_EQ(pending_.add(first_, third, bytes_ + 8, 16), Error::kOk);
  ASSERT_EQ(pending_.add(second_, first_, bytes_, 64), Error::kOk);
  log();
  EXPECT_EQ(pending_.before_write(device(0), bytes_ + 12, 1), Error::kOk);
  EXPECT_EQ(log(), "0 waits for 2; 0 waits for 1; ");
  EXPECT_EQ(pending_.settle(), Error::kOk);
  EXPECT_EQ(log(), "1 waits for 0; ");
  EXPECT_TRUE(pending_.empty());
}

TEST_F(PendingReadsTest, NoMarkIsPutOverOneThatIsStillToBeWaitedFor) {
  ASSERT_EQ(pending_.add(first_, second_, bytes_, 1), Error::kOk);
  log();
  ASSERT_EQ(pending_.add(first_, second_, bytes_ + 1, 1), Error::kOk);
  EXPECT_EQ(log(), "0 waits for 1; mark 1; ");
  EXPECT_EQ(pending_.before_mark(first_), Error::kOk);
  EXPECT_EQ(log(), "");
  EXPECT_EQ(pending_.before_mark(second_), Error::kOk);
  EXPECT_EQ(log(), "0 waits for 1; ");
  EXPECT_TRUE(pending_.empty());
}

TEST_F(PendingReadsTest, WithTooManyTheOldestIsWaitedFor) {
  std::vector<DeviceUse> readers;
  for (size_t i = 0; i <= PendingReads::kMost; ++i) {
    readers.push_back({device(static_cast<DeviceIndex>(i + 1)), &allocator_, nullptr});
  }
  for (size_t i = 0; i < PendingReads::kMost; ++i) {
    ASSERT_EQ(pending_.add(first_, readers[i], bytes_ + i, 1), Error::kOk);
  }
  log();
  ASSERT_EQ(pending_.add(first_, readers.back(), bytes_ + 32, 1), Error::kOk);
  EXPECT_EQ(log(), "0 waits for 1; mark " + std::to_string(PendingReads::kMost + 1) + "; ");
  EXPECT_EQ(pending_.before_write(device(0), bytes_, 1), Error::kOk);
  EXPECT_EQ(log(), "") << "byte 0 was settled";
  EXPECT_EQ(pending_.before_write(device(0), bytes_ + 1, 1), Error::kOk);
  EXPECT_EQ(log(), "0 waits for 2; ");
}

TEST_F(PendingReadsTest, AFailureOfAStreamIsToldAndTheCopyStillWaitedFor) {
  ASSERT_EQ(pending_.add(first_, second_, bytes_, 16), Error::kOk);
  allocator_.fails = Error::kInternal;
  EXPECT_EQ(pending_.before_write(device(0), bytes_, 16), Error::kInternal);
  EXPECT_EQ(pending_.add(first_, second_, bytes_, 16), Error::kInternal);
  allocator_.fails = Error::kOk;
  log();
  EXPECT_EQ(pending_.settle(), Error::kOk);
  EXPECT_EQ(log(), "0 waits for 1; ");
  EXPECT_TRUE(pending_.empty());
}

}  // namespace
}  // namespace berth
