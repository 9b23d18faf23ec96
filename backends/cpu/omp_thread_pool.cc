#include "backends/cpu/omp_thread_pool.h"

#include <algorithm>

#include "kernels/cpu/onednn.h"

namespace berth {

OmpThreadPool::OmpThreadPool(int threads)
    : threads_(std::clamp(threads, 1, kMaxThreads)), shares_(new WorkShare[threads_]) {}

void OmpThreadPool::run(int64_t count, int64_t grain, ParallelBody body) {
  if (count <= 0) return;
  const WorkCut cut = WorkCut::of(count, grain, threads_);
  // Called by name, because the compiler's pragma might use another OpenMP, with a second team.
  const cpu::OpenMp* openmp = cut.parts == 1 ? nullptr : cpu::onednn_openmp();
  if (openmp == nullptr) return body.call(body.context, 0, count);
  for (int64_t i = 0; i < cut.parts; ++i) shares_[i].set(0, cut, i, count, body);
  // Uses the whole team even if there are fewer parts: OpenMP would create a new team for another size.
  openmp->parallel([](void* pool) { static_cast<OmpThreadPool*>(pool)->work(cpu::onednn_openmp()->thread_num()); },
                   this, static_cast<unsigned>(threads_), 0);
}

void OmpThreadPool::work(int self) {
  uint32_t job = 0;
  while (shares_[self].do_first(&job)) {
  }
  for (int i = 1; i < threads_; ++i) {
    while (shares_[(self + i) % threads_].do_last(&job)) {
    }
  }
}

}  // namespace berth
