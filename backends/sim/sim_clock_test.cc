#include "backends/sim/sim_clock.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(SimClock, StreamsWorkAtTheSameTimeAndTheHostWaitsForItsCopies) {
  SimClock clock;
  clock.work(1, SimWorkKind::kToDevice, 0, 8, 2);
  EXPECT_EQ(clock.host(), 2);
  clock.work(1, SimWorkKind::kDelegate, 0, 0, 10);
  clock.work(2, SimWorkKind::kDelegate, 1, 0, 3);
  EXPECT_EQ(clock.host(), 2) << "it goes on";
  clock.work(2, SimWorkKind::kFromDevice, 1, 8, 1);
  EXPECT_EQ(clock.host(), 6);
  clock.work(SimClock::kHost, SimWorkKind::kHost, 0, 0, 1);
  EXPECT_EQ(clock.host(), 7);
  clock.synchronize(1);
  EXPECT_EQ(clock.host(), 12);
  ASSERT_EQ(clock.log().size(), 5U);
  EXPECT_EQ(clock.log()[2].begin, 2);
  EXPECT_EQ(clock.log()[2].end, 5);
}

TEST(SimClock, AStreamWaitsForTheMarkOfAnotherAndForNothingBehindIt) {
  SimClock clock;
  clock.work(1, SimWorkKind::kDelegate, 0, 0, 5);
  clock.record(1);
  clock.work(1, SimWorkKind::kDelegate, 0, 0, 5);
  clock.wait(2, 1);
  clock.work(2, SimWorkKind::kBetween, 1, 8, 1);
  EXPECT_EQ(clock.log().back().begin, 5);
  clock.wait(2, 3);
  clock.work(2, SimWorkKind::kDelegate, 1, 0, 1);
  EXPECT_EQ(clock.log().back().begin, 6) << "stream 3 has no mark";
}

TEST(SimClock, BeginsAnew) {
  SimClock clock;
  clock.work(1, SimWorkKind::kDelegate, 0, 0, 5);
  clock.record(1);
  clock.synchronize(1);
  clock.reset();
  clock.wait(2, 1);
  clock.work(2, SimWorkKind::kDelegate, 1, 0, 1);
  EXPECT_EQ(clock.log().size(), 1U);
  EXPECT_EQ(clock.log()[0].begin, 0);
  EXPECT_EQ(clock.host(), 0);
}

}  // namespace
}  // namespace berth
