#include "compiler/memory/scheduling/timing.h"

#include <gtest/gtest.h>

namespace berth::scheduling {
namespace {

// The host copies to two devices, both compute, and what they made is copied back and joined.
Problem two_branches() {
  Problem problem;
  problem.tasks = 7;  // to 1, work of 1, from 1, to 2, work of 2, from 2, join
  problem.edges = {{0, 1}, {1, 2}, {3, 4}, {4, 5}, {2, 6}, {5, 6}};
  return problem;
}

const std::vector<TaskTime> kTwoBranches = {{2, 1, -1, true}, {100, 1}, {3, 1, -1, true}, {2, 2, -1, true}, {90, 2},
                                            {4, 2, -1, true}, {10}};

TEST(Timing, TheHostWaitsForWhatItCopiesAndNotForWhatADeviceComputes) {
  const Timeline one_by_one = timeline_of(kTwoBranches, {0, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(one_by_one.begin, (std::vector<int64_t>{0, 2, 102, 105, 107, 197, 201}));
  EXPECT_EQ(one_by_one.nanoseconds, 211);
  const Timeline together = timeline_of(kTwoBranches, {0, 1, 3, 4, 2, 5, 6});
  EXPECT_EQ(together.begin, (std::vector<int64_t>{0, 2, 102, 2, 4, 105, 109}));
  EXPECT_EQ(together.end[6], 119);
  EXPECT_EQ(together.nanoseconds, 119);
}

TEST(Timing, TheHostWaitsForACopyToItWhereItReadsThatAlone) {
  // Work of 1, its copy to the host, work of the host, work of 2, its copy, a reader of the second copy, and of the
  // first.
  std::vector<TaskTime> times = {{100, 1}, {30, 1}, {10}, {20, 2}, {40, 2}, {5}, {1}};
  times[1].arrival = 0;
  times[4].arrival = 1;
  times[5].awaits = {1};
  times[6].awaits = {0, 1};
  const Timeline timeline = timeline_of(times, {0, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(timeline.begin, (std::vector<int64_t>{0, 100, 0, 10, 30, 70, 130}));
  EXPECT_EQ(timeline.nanoseconds, 131);
  // What a device reads of the host's memory, the host waits for.
  times[6] = {1, 2, -1, true};
  times[6].awaits = {0};
  EXPECT_EQ(timeline_of(times, {0, 1, 2, 3, 4, 5, 6}).begin[6], 130);
  EXPECT_EQ(time_bounds({7, {}, {}, {}}, times).host, 10 + 5 + 1) << "copies to it do not hold it";
}

TEST(Timing, ClocksOfWhichACopyArrivesLaterAreLater) {
  TaskTime slow{30, 1};
  slow.arrival = 0;
  TaskTime reader{1};
  reader.awaits = {0};
  WorkerClocks first(3);
  first.hand_out(slow);
  first.hand_out({50, 1});
  WorkerClocks second(3);
  second.hand_out({50, 1});
  second.hand_out(slow);
  EXPECT_TRUE(first.are_never_later(second));
  EXPECT_FALSE(second.are_never_later(first)) << "as the copy arrives at 80";
  EXPECT_TRUE(first.must_wait(reader));
  first.hand_out({30});
  EXPECT_FALSE(first.must_wait(reader)) << "the host is there too";
}

TEST(Timing, ACopyBetweenDevicesKeepsBothAndNotTheHost) {
  const std::vector<TaskTime> times = {{10, 1}, {5, 2, 1}, {7, 1}, {8, 2}, {1}};
  const Timeline timeline = timeline_of(times, {0, 1, 2, 3, 4});
  EXPECT_EQ(timeline.begin, (std::vector<int64_t>{0, 10, 15, 15, 0}));
  EXPECT_EQ(timeline.nanoseconds, 23);
}

TEST(Timing, TheSourcesDeviceMayGoOn) {
  const std::vector<TaskTime> times = {{10, 1}, {5, 2, 1, false, false}, {7, 1}, {8, 2}, {1}};
  const Timeline timeline = timeline_of(times, {0, 1, 2, 3, 4});
  EXPECT_EQ(timeline.begin, (std::vector<int64_t>{0, 10, 10, 15, 0}));
  EXPECT_EQ(time_bounds({5, {}, {}, {}}, times).busy, (std::vector<int64_t>{1, 17, 13}));
}

TEST(Timing, TheSourcesDeviceWaitsForOneCopyWhenTheNextIsMarked) {
  const std::vector<TaskTime> times = {{10, 1}, {50, 2, 1, false, false}, {7, 1}, {5, 2, 1, false, false}, {1, 1}};
  const Timeline timeline = timeline_of(times, {0, 1, 2, 3, 4});
  EXPECT_EQ(timeline.begin, (std::vector<int64_t>{0, 10, 10, 60, 60}));
  // A copy back marks the second stream as well.
  const Timeline back =
      timeline_of({{10, 1}, {50, 2, 1, false, false}, {7, 1}, {5, 1, 2, false, false}, {1, 1}}, {0, 1, 2, 3, 4});
  EXPECT_EQ(back.begin, (std::vector<int64_t>{0, 10, 10, 60, 65}));
}

TEST(Timing, NoOrderIsFasterThanItsLongestChainAndItsBusiestWorker) {
  const TimeBounds bounds = time_bounds(two_branches(), kTwoBranches);
  EXPECT_EQ(bounds.critical_path, 2 + 100 + 3 + 10);
  EXPECT_EQ(bounds.host, 2 + 3 + 2 + 4 + 10);
  EXPECT_EQ(bounds.busy, (std::vector<int64_t>{10, 105, 96}));
  EXPECT_EQ(bounds.least(), 115);
  Problem loose;
  loose.tasks = 3;
  EXPECT_EQ(time_bounds(loose, {{5, 1}, {6, 1}, {7, 1}}).least(), 18) << "one device does them all";
  EXPECT_EQ(time_bounds(loose, {{5, 1, -1, true}, {6, 2, -1, true}, {7}}).least(), 18) << "the host waits for them all";
}

TEST(Timing, TimesBeyondAllNumbersDoNotWrapAround) {
  Problem chain;
  chain.tasks = 3;
  chain.edges = {{0, 1}, {1, 2}};
  const std::vector<TaskTime> times(3, {INT64_MAX, 1});
  EXPECT_EQ(time_bounds(chain, times).least(), 3 * kMostNanoseconds);
  EXPECT_EQ(timeline_of(times, {0, 1, 2}).nanoseconds, 3 * kMostNanoseconds);
}

}  // namespace
}  // namespace berth::scheduling
