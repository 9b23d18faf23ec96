// The fears: an item that is done twice or not at all, a region where there is one thread, work on more threads than
// asked for.

#include "backends/cpu/omp_thread_pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "backends/cpu/omp_testing.h"
#include "kernels/cpu/onednn.h"

namespace berth {
namespace {

struct Seen {
  explicit Seen(int64_t count) : times(static_cast<size_t>(count)) {}
  static void visit(void* context, int64_t begin, int64_t end) {
    Seen& seen = *static_cast<Seen*>(context);
    for (int64_t i = begin; i < end; ++i) ++seen.times[i];
    const std::lock_guard<std::mutex> lock(seen.mutex);
    seen.threads.insert(std::this_thread::get_id());
    seen.in_region = seen.in_region || testing::in_omp_region();
  }
  std::vector<int> times;
  std::set<std::thread::id> threads;
  std::mutex mutex;
  bool in_region = false;
};

TEST(OmpThreadPool, VisitsEveryItemOnce) {
  for (const int threads : {1, 2, 3}) {
    OmpThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const int64_t count : {0, 1, 2, 7, 64, 1000, 4097}) {
      for (const int64_t grain : {1, 3, 100, 5000}) {
        Seen seen(count);
        pool.run(count, grain, {Seen::visit, &seen});
        for (const int times : seen.times) ASSERT_EQ(times, 1) << threads << " " << count << " " << grain;
        EXPECT_LE(seen.threads.size(), static_cast<size_t>(threads));
      }
    }
  }
}

TEST(OmpThreadPool, OneThreadOpensNoRegion) {
  OmpThreadPool pool(1);
  Seen seen(1000);
  pool.run(1000, 1, {Seen::visit, &seen});
  EXPECT_FALSE(seen.in_region);
  OmpThreadPool two(2);
  Seen parallel(1000);
  two.run(1000, 1, {Seen::visit, &parallel});
  EXPECT_TRUE(parallel.in_region);
}

TEST(OmpThreadPool, SmallWorkStaysOnTheCaller) {
  OmpThreadPool pool(2);
  Seen seen(10);
  pool.run(10, 10, {Seen::visit, &seen});
  EXPECT_FALSE(seen.in_region);
  EXPECT_EQ(*seen.threads.begin(), std::this_thread::get_id());
}

#ifndef BERTH_ONEDNN_LINKED
// A process of its own, before others have opened it.
TEST(OmpThreadPoolDeathTest, WithoutOneDnnTheCallerWorksAlone) {
  EXPECT_EXIT(
      {
        cpu::open_onednn_as("libdnnl_of_nowhere.so.3");
        OmpThreadPool pool(2);
        Seen seen(1000);
        pool.run(1000, 1, {Seen::visit, &seen});
        for (const int times : seen.times) EXPECT_EQ(times, 1);
        EXPECT_EQ(seen.threads, std::set<std::thread::id>{std::this_thread::get_id()});
        std::exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}
#endif

TEST(OmpThreadPool, ThreadCountsAreClamped) {
  EXPECT_EQ(OmpThreadPool(0).size(), 1);
  EXPECT_EQ(OmpThreadPool(-3).size(), 1);
  EXPECT_EQ(OmpThreadPool(100000).size(), OmpThreadPool::kMaxThreads);
}

}  // namespace
}  // namespace berth
