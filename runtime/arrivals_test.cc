// The fears: a reader of bytes that have not arrived, a wait for what nothing reads, and a copy that is forgotten.
#include "runtime/arrivals.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "runtime/no_memory_allocator_testing.h"

namespace berth {
namespace {

// Copies have numbers, and it keeps which of them were begun and waited for.
class LoggingAllocator final : public testing::NoMemoryAllocator {
 public:
  Result<uint64_t> begin_copy_to_host(void*, const void*, size_t, DeviceIndex index, DeviceStream*) override {
    log += std::to_string(index) + " begins; ";
    if (fails != Error::kOk) return fails;
    return at_once ? 0 : ++begun;
  }
  Error finish_copy_to_host(uint64_t number, DeviceIndex index, DeviceStream*) override {
    log += std::to_string(index) + " is waited for up to " + std::to_string(number) + "; ";
    return fails;
  }

  std::string log;
  uint64_t begun = 0;
  bool at_once = false;
  Error fails = Error::kOk;
};

class ArrivalsTest : public ::testing::Test {
 protected:
  std::string log() { return std::exchange(allocator_.log, ""); }
  Error begin(const DeviceUse& use, size_t at, size_t bytes) {
    return arrivals_.begin(use, host_ + at, device_, bytes);
  }
  Error use(size_t at, size_t bytes) { return arrivals_.before_use(host_ + at, bytes); }

  LoggingAllocator allocator_;
  DeviceUse first_{Device{DeviceType::kSim, 0}, &allocator_, nullptr};
  DeviceUse second_{Device{DeviceType::kSim, 1}, &allocator_, nullptr};
  uint8_t host_[256] = {};
  uint8_t device_[256] = {};
  Arrivals arrivals_;
};

TEST_F(ArrivalsTest, WhatUsesTheBytesWaitsOnceAndNothingElseDoes) {
  EXPECT_TRUE(arrivals_.empty());
  ASSERT_EQ(begin(first_, 16, 16), Error::kOk);
  EXPECT_FALSE(arrivals_.empty());
  EXPECT_EQ(log(), "0 begins; ");
  EXPECT_EQ(use(0, 16), Error::kOk);
  EXPECT_EQ(use(32, 64), Error::kOk);
  EXPECT_EQ(log(), "");
  EXPECT_EQ(use(31, 1), Error::kOk);
  EXPECT_EQ(log(), "0 is waited for up to 1; ");
  EXPECT_TRUE(arrivals_.empty());
  EXPECT_EQ(use(0, 64), Error::kOk);
  EXPECT_EQ(log(), "");
}

TEST_F(ArrivalsTest, EarlierCopiesOfTheStreamAreDoneWithALaterOneAndOthersAreNot) {
  ASSERT_EQ(begin(first_, 0, 8), Error::kOk);
  ASSERT_EQ(begin(second_, 8, 8), Error::kOk);
  ASSERT_EQ(begin(first_, 16, 8), Error::kOk);
  ASSERT_EQ(begin(first_, 24, 8), Error::kOk);
  log();
  EXPECT_EQ(use(16, 8), Error::kOk);
  EXPECT_EQ(log(), "0 is waited for up to 3; ");
  EXPECT_EQ(use(0, 8), Error::kOk);
  EXPECT_EQ(log(), "");
  EXPECT_EQ(use(8, 24), Error::kOk);
  EXPECT_EQ(log(), "0 is waited for up to 4; 1 is waited for up to 2; ");
  EXPECT_TRUE(arrivals_.empty());
}

TEST_F(ArrivalsTest, OneCopyOverAnotherWaitsForIt) {
  ASSERT_EQ(begin(first_, 0, 16), Error::kOk);
  ASSERT_EQ(begin(second_, 8, 16), Error::kOk);
  EXPECT_EQ(log(), "0 begins; 0 is waited for up to 1; 1 begins; ");
}

TEST_F(ArrivalsTest, ACopyThatIsCompleteIsNotWaitedFor) {
  allocator_.at_once = true;
  ASSERT_EQ(begin(first_, 0, 16), Error::kOk);
  EXPECT_TRUE(arrivals_.empty());
}

TEST_F(ArrivalsTest, WithTooManyTheOldestIsWaitedFor) {
  for (size_t i = 0; i < Arrivals::kMost; ++i) ASSERT_EQ(begin(i == 0 ? second_ : first_, i, 1), Error::kOk);
  log();
  ASSERT_EQ(begin(first_, 200, 1), Error::kOk);
  EXPECT_EQ(log(), "1 is waited for up to 1; 0 begins; ");
  EXPECT_EQ(arrivals_.settle(), Error::kOk);
  EXPECT_EQ(log(), "0 is waited for up to " + std::to_string(Arrivals::kMost + 1) + "; ");
}

TEST_F(ArrivalsTest, AFailureIsToldAndTheCopyStillWaitedFor) {
  ASSERT_EQ(begin(first_, 0, 16), Error::kOk);
  allocator_.fails = Error::kInternal;
  EXPECT_EQ(use(0, 16), Error::kInternal);
  EXPECT_EQ(begin(first_, 32, 16), Error::kInternal);
  allocator_.fails = Error::kOk;
  log();
  EXPECT_EQ(arrivals_.settle(), Error::kOk);
  EXPECT_EQ(log(), "0 is waited for up to 1; ");
  EXPECT_TRUE(arrivals_.empty());
}

}  // namespace
}  // namespace berth
