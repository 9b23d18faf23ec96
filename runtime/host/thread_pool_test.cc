#include "runtime/host/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace berth {
namespace {

struct Counts {
  explicit Counts(int64_t count) : seen(count) {}
  static void visit(void* context, int64_t begin, int64_t end) {
    Counts& counts = *static_cast<Counts*>(context);
    counts.ranges++;
    for (int64_t i = begin; i < end; ++i) counts.seen[i]++;
  }
  std::vector<std::atomic<int>> seen;
  std::atomic<int> ranges{0};
};

TEST(HostThreadPool, VisitsEveryItemOnce) {
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

TEST(HostThreadPool, RangesAreAtLeastTheGrain) {
  HostThreadPool pool(4);
  Counts counts(1000);
  pool.run(1000, 300, {Counts::visit, &counts});
  EXPECT_LE(counts.ranges, 3);
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

// The thread that did an item does it again in the next job of that size, unless it is late: then another one does.
TEST(HostThreadPool, ThreadsKeepTheirRanges) {
  struct Owners {
    static void visit(void* context, int64_t begin, int64_t end) {
      Owners& owners = *static_cast<Owners*>(context);
      for (int64_t i = begin; i < end; ++i) owners.of[i] = std::this_thread::get_id();
    }
    std::vector<std::thread::id> of{std::vector<std::thread::id>(64)};
  };
  HostThreadPool pool(2);
  Owners owners;
  pool.run(64, 1, {Owners::visit, &owners});
  // The caller is never late for its first range, and no thread takes that while the caller has not left it.
  EXPECT_EQ(owners.of[0], std::this_thread::get_id());
  EXPECT_EQ(owners.of[7], std::this_thread::get_id());
}

// One thread is kept within its first range until everything else is done: another one must do the rest of its part.
TEST(HostThreadPool, OthersDoTheWorkOfALateThread) {
  struct Stuck {
    static void visit(void* context, int64_t begin, int64_t end) {
      Stuck& stuck = *static_cast<Stuck*>(context);
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (begin == 50 && stuck.done < 75 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      if (begin == 50) stuck.others_done = stuck.done;
      stuck.done += static_cast<int>(end - begin);
    }
    std::atomic<int> done{0};
    int others_done = 0;
  };
  HostThreadPool pool(2);
  for (int run = 0; run < 20; ++run) {
    Stuck stuck;
    // Parts of 50, in ranges of 25: who holds the first one of the second part waits for the other three.
    pool.run(100, 25, {Stuck::visit, &stuck});
    ASSERT_EQ(stuck.others_done, 75);
  }
}

TEST(HostThreadPool, MoreThreadsThanCoresFinish) {
  HostThreadPool pool(static_cast<int>(std::thread::hardware_concurrency()) * 4 + 1);
  for (int run = 0; run < 200; ++run) {
    Counts counts(97);
    pool.run(97, 1, {Counts::visit, &counts});
    for (const std::atomic<int>& seen : counts.seen) ASSERT_EQ(seen, 1) << run;
  }
}

TEST(HostThreadPool, ThreadCountsAreClamped) {
  EXPECT_EQ(HostThreadPool(0).size(), 1);
  EXPECT_EQ(HostThreadPool(-5).size(), 1);
}

TEST(HostThreadPool, AnIdlePoolShutsDown) {
  for (int i = 0; i < 50; ++i) HostThreadPool pool(4);
}

}  // namespace
}  // namespace berth
