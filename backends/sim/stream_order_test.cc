// The fears: work out of order that passes, and work in order that does not.

#include "backends/sim/stream_order.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

class StreamOrderTest : public ::testing::Test {
 protected:
  bool write(StreamOrder::Worker worker, uintptr_t begin = 0, size_t size = 16) {
    return order_.access(worker, begin, size, true);
  }
  bool read(StreamOrder::Worker worker, uintptr_t begin = 0, size_t size = 16) {
    return order_.access(worker, begin, size, false);
  }
  StreamOrder order_;
  const StreamOrder::Worker host_ = StreamOrder::kHost;
  const StreamOrder::Worker a_ = order_.add_stream();
  const StreamOrder::Worker b_ = order_.add_stream();
  const StreamOrder::Worker c_ = order_.add_stream();
};

TEST_F(StreamOrderTest, OneStreamIsInOrder) { EXPECT_TRUE(write(a_) && read(a_) && write(a_) && read(a_)); }

TEST_F(StreamOrderTest, AnotherStreamThatDidNotWaitIsNotInOrder) {
  EXPECT_TRUE(write(a_));
  EXPECT_FALSE(read(b_));
  EXPECT_FALSE(write(b_));
  EXPECT_FALSE(read(host_));
  EXPECT_TRUE(read(b_, 16)) << "other bytes";
  EXPECT_FALSE(read(b_, 15, 1));
}

TEST_F(StreamOrderTest, ReadersDoNotDisturbEachOther) {
  EXPECT_TRUE(read(a_) && read(b_) && read(host_));
  EXPECT_FALSE(write(b_)) << "a may still read";
}

TEST_F(StreamOrderTest, AWaitCoversWhatWasRecordedAndNoMore) {
  EXPECT_TRUE(write(a_));
  order_.record(a_);
  EXPECT_TRUE(write(a_, 100));
  order_.wait(b_, a_);
  EXPECT_TRUE(read(b_));
  EXPECT_FALSE(read(b_, 100));
  EXPECT_FALSE(read(c_)) << "another one did not wait";
}

TEST_F(StreamOrderTest, AWaitWithoutAnEventIsNoWait) {
  EXPECT_TRUE(write(a_));
  order_.wait(b_, a_);
  EXPECT_FALSE(read(b_));
}

TEST_F(StreamOrderTest, WaitsAreTransitive) {
  EXPECT_TRUE(write(a_));
  order_.record(a_);
  order_.wait(b_, a_);
  order_.record(b_);
  order_.wait(c_, b_);
  EXPECT_TRUE(read(c_));
}

TEST_F(StreamOrderTest, WorkTheHostWaitedForIsDone) {
  EXPECT_TRUE(write(a_));
  order_.record(a_);
  order_.wait(b_, a_);
  EXPECT_TRUE(read(b_) && write(b_, 100));
  order_.synchronize(b_);
  EXPECT_TRUE(read(c_, 100) && read(c_) && read(host_));
  EXPECT_TRUE(write(a_, 200));
  EXPECT_FALSE(read(c_, 200));
}

TEST_F(StreamOrderTest, TheHostsOwnWorkIsDoneAtOnce) { EXPECT_TRUE(write(host_) && read(a_)); }

TEST_F(StreamOrderTest, FreedMemoryHasNoHistory) {
  EXPECT_TRUE(write(a_));
  order_.forget(0, 16);
  EXPECT_TRUE(write(b_));
}

// What a write or a release covers in part goes on to the rest of it.
TEST_F(StreamOrderTest, PartlyCoveredWorkIsKept) {
  EXPECT_TRUE(write(a_, 0, 32));
  EXPECT_TRUE(write(a_, 16, 16));
  EXPECT_FALSE(write(b_, 0, 8)) << "the first write, of which the second one covers a part";
  order_.forget(16, 16);
  EXPECT_FALSE(write(b_, 0, 8));
  order_.forget(0, 32);
  EXPECT_TRUE(write(b_, 0, 8));
}

TEST_F(StreamOrderTest, ADestroyedStreamsWorkIsDone) {
  EXPECT_TRUE(write(a_));
  order_.remove_stream(a_);
  EXPECT_TRUE(write(b_));
}

}  // namespace
}  // namespace berth
