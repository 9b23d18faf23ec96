#include "backends/cpu/omp_thread_pool.h"

#include <algorithm>

// The functions of libgomp that compilers call for "#pragma omp parallel". Called by name, so that a compiler whose own
// pragma would bring another OpenMP runtime, with a second team, can build this too.
extern "C" void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
extern "C" int omp_get_thread_num();

namespace berth {

OmpThreadPool::OmpThreadPool(int threads)
    : threads_(std::clamp(threads, 1, kMaxThreads)), shares_(new WorkShare[static_cast<size_t>(threads_)]) {}

void OmpThreadPool::run(int64_t count, int64_t grain, ParallelBody body) {
  if (count <= 0) return;
  const WorkCut cut = WorkCut::of(count, grain, threads_);
  if (cut.parts == 1) return body.call(body.context, 0, count);
  for (int64_t i = 0; i < cut.parts; ++i) shares_[static_cast<size_t>(i)].set(0, cut, i, count, body);
  // The whole team even where there are fewer parts: a team of another size would be made anew.
  GOMP_parallel([](void* pool) { static_cast<OmpThreadPool*>(pool)->work(omp_get_thread_num()); }, this,
                static_cast<unsigned>(threads_), 0);
}

void OmpThreadPool::work(int self) {
  uint32_t job = 0;
  while (shares_[static_cast<size_t>(self)].do_first(&job)) {
  }
  for (int i = 1; i < threads_; ++i) {
    while (shares_[static_cast<size_t>((self + i) % threads_)].do_last(&job)) {
    }
  }
}

}  // namespace berth
