// The fears: an item that is done twice or not at all, ranges that are too small to be worth a thread, a part that
// moves from thread to thread between two jobs of equal size, a part that waits for its thread while another one has
// nothing to do.

#include "runtime/host/work_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace berth {
namespace {

struct Range {
  int64_t begin, end;
  bool operator==(const Range& other) const { return begin == other.begin && end == other.end; }
};

struct Seen {
  static void visit(void* context, int64_t begin, int64_t end) {
    static_cast<Seen*>(context)->ranges.push_back({begin, end});
  }
  ParallelBody body() { return {visit, this}; }
  std::vector<Range> ranges;
};

TEST(WorkShare, CutRangesHaveTheGrainAndNoneIsEmpty) {
  for (const int threads : {1, 2, 3, 8, 256}) {
    for (const int64_t count : {1, 2, 3, 7, 9, 64, 1000, 4097}) {
      for (const int64_t grain : {1, 2, 3, 100, 5000}) {
        const WorkCut cut = WorkCut::of(count, grain, threads);
        ASSERT_GE(cut.parts, 1);
        ASSERT_LE(cut.parts, threads);
        ASSERT_GE(cut.ranges, 1);
        Seen seen;
        int64_t next = 0;
        for (int64_t i = 0; i < cut.parts; ++i) {
          WorkShare share;
          share.set(1, cut, i, count, seen.body());
          uint32_t job = 0;
          while (share.do_first(&job)) {
          }
        }
        ASSERT_EQ(static_cast<int64_t>(seen.ranges.size()), cut.total());
        for (const Range& range : seen.ranges) {
          ASSERT_EQ(range.begin, next) << threads << " " << count << " " << grain;
          ASSERT_GE(range.end - range.begin, std::min(count, grain)) << threads << " " << count << " " << grain;
          next = range.end;
        }
        ASSERT_EQ(next, count);
      }
    }
  }
}

TEST(WorkShare, CutPartsAreEven) {
  // Of 49 rows no thread of two gets more than 25.
  const WorkCut cut = WorkCut::of(49, 1, 2);
  EXPECT_EQ(cut.parts, 2);
  Seen seen;
  WorkShare share;
  share.set(1, cut, 1, 49, seen.body());
  uint32_t job = 0;
  ASSERT_TRUE(share.do_first(&job));
  EXPECT_EQ(seen.ranges[0].begin, 25);
}

TEST(WorkShare, CountsNearTheLargestDoNotOverflow) {
  const int64_t count = INT64_MAX;
  const WorkCut cut = WorkCut::of(count, 1, 7);
  Seen seen;
  WorkShare share;
  share.set(1, cut, 6, count, seen.body());
  uint32_t job = 0;
  ASSERT_TRUE(share.do_last(&job));
  EXPECT_EQ(seen.ranges[0].end, count);
  EXPECT_GT(seen.ranges[0].begin, count / 7 * 6);
}

TEST(WorkShare, IsTakenFromBothEndsUntilEmpty) {
  Seen seen;
  WorkShare share;
  uint32_t job = 0;
  EXPECT_FALSE(share.do_first(&job));
  share.set(9, {1, 4}, 0, 100, seen.body());
  EXPECT_EQ(share.job(), 9u);
  EXPECT_TRUE(share.do_first(&job));
  EXPECT_EQ(job, 9u);
  EXPECT_TRUE(share.do_last(&job));
  EXPECT_TRUE(share.do_first(&job));
  EXPECT_TRUE(share.do_last(&job));
  EXPECT_FALSE(share.do_first(&job));
  EXPECT_FALSE(share.do_last(&job));
  EXPECT_EQ(seen.ranges, (std::vector<Range>{{0, 25}, {75, 100}, {25, 50}, {50, 75}}));
  EXPECT_EQ(share.job(), 9u);
}

// Two threads take from the ends of one share after the other: each item is done once, whichever thread comes first.
TEST(WorkShare, NothingIsTakenTwiceByThreadsThatMeet) {
  struct Counts {
    static void visit(void* context, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++static_cast<Counts*>(context)->times[i];
    }
    std::array<std::atomic<int>, 40> times{};
  };
  constexpr size_t kRounds = 300;
  const auto counts = std::make_unique<Counts[]>(kRounds);
  const auto shares = std::make_unique<WorkShare[]>(kRounds);
  for (size_t i = 0; i < kRounds; ++i) shares[i].set(1, {1, 4}, 0, 40, {Counts::visit, &counts[i]});
  std::thread thief([&] {
    uint32_t job = 0;
    for (size_t i = 0; i < kRounds; ++i) {
      while (shares[i].do_last(&job)) {
      }
    }
  });
  uint32_t job = 0;
  for (size_t i = 0; i < kRounds; ++i) {
    while (shares[i].do_first(&job)) {
    }
  }
  thief.join();
  for (size_t i = 0; i < kRounds; ++i) {
    for (const std::atomic<int>& times : counts[i].times) ASSERT_EQ(times, 1) << i;
  }
}

}  // namespace
}  // namespace berth
