#include "backends/cpu/omp_thread_pool.h"

#include <algorithm>
#include <atomic>

// The functions of libgomp that compilers call for "#pragma omp parallel". Called by name, so that a compiler whose own
// pragma would bring another OpenMP runtime, with a second team, can build this too.
extern "C" void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);

namespace berth {
namespace {

// Ranges are small enough that a thread that comes late finds less to do, and large enough that taking one is nothing.
constexpr int64_t kRangesPerThread = 4;

struct Region {
  ParallelBody body;
  int64_t count;
  int64_t chunk;
  std::atomic<int64_t> next{0};
};

void work(void* data) {
  Region& region = *static_cast<Region*>(data);
  while (true) {
    const int64_t begin = region.next.fetch_add(region.chunk, std::memory_order_relaxed);
    if (begin >= region.count) return;
    region.body.call(region.body.context, begin, std::min(begin + region.chunk, region.count));
  }
}

}  // namespace

OmpThreadPool::OmpThreadPool(int threads) : threads_(std::clamp(threads, 1, kMaxThreads)) {}

void OmpThreadPool::run(int64_t count, int64_t grain, ParallelBody body) {
  if (count <= 0) return;
  if (threads_ == 1 || count <= grain) return body.call(body.context, 0, count);
  Region region;
  region.body = body;
  region.count = count;
  region.chunk = std::max(grain, (count - 1) / (kRangesPerThread * threads_) + 1);
  const int64_t ranges = (count - 1) / region.chunk + 1;
  // The whole team even where there are fewer ranges: a team of another size would be made anew.
  if (ranges == 1) return body.call(body.context, 0, count);
  GOMP_parallel(work, &region, static_cast<unsigned>(threads_), 0);
}

}  // namespace berth
