#include "runtime/host/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <vector>

namespace berth {
namespace {

struct Counts {
  explicit Counts(int64_t count) : seen(static_cast<size_t>(count)) {}
  static void visit(void* context, int64_t begin, int64_t end) {
    Counts& counts = *static_cast<Counts*>(context);
    counts.ranges++;
    for (int64_t i = begin; i < end; ++i) counts.seen[static_cast<size_t>(i)]++;
  }
  std::vector<std::atomic<int>> seen;
  std::atomic<int> ranges{0};
};

TEST(HostThreadPool, EveryItemIsVisitedOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    HostThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const int64_t count : {0, 1, 2, 7, 64, 1000, 4097}) {
      for (const int64_t grain : {1, 3, 100, 5000}) {
        Counts counts(count);
        pool.run(count, grain, {Counts::visit, &counts});
        for (const std::atomic<int>& seen : counts.seen) ASSERT_EQ(seen, 1) << threads << " " << count << " " << grain;
      }
    }
  }
}

TEST(HostThreadPool, RangesAreNotSmallerThanTheGrain) {
  HostThreadPool pool(4);
  Counts counts(1000);
  pool.run(1000, 300, {Counts::visit, &counts});
  EXPECT_LE(counts.ranges, 4);
  Counts small(10);
  pool.run(10, 10, {Counts::visit, &small});
  EXPECT_EQ(small.ranges, 1);
}

// Runs one after the other, with sleeps between some, so that threads are met awake, asleep and on their way to sleep.
TEST(HostThreadPool, ManyRunsLoseNothing) {
  HostThreadPool pool(3);
  for (int run = 0; run < 3000; ++run) {
    Counts counts(37);
    pool.run(37, 1, {Counts::visit, &counts});
    for (const std::atomic<int>& seen : counts.seen) ASSERT_EQ(seen, 1) << run;
    if (run % 300 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(HostThreadPool, NumbersOfThreadsThatMakeNoSenseAreBroughtIntoRange) {
  EXPECT_EQ(HostThreadPool(0).size(), 1);
  EXPECT_EQ(HostThreadPool(-5).size(), 1);
}

TEST(HostThreadPool, AnIdlePoolEnds) {
  for (int i = 0; i < 50; ++i) HostThreadPool pool(4);
}

}  // namespace
}  // namespace berth
