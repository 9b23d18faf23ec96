#include "backends/cpu/omp_thread_pool.h"

#include <algorithm>

#include "kernels/cpu/onednn.h"

namespace berth {

OmpThreadPool::OmpThreadPool(int threads)
    : threads_(std::clamp(threads, 1, kMaxThreads)), shares_(new WorkShare[static_cast<size_t>(threads_)]) {}

void OmpThreadPool::run(int64_t count, int64_t grain, ParallelBody body) {
  if (count <= 0) return;
  const WorkCut cut = WorkCut::of(count, grain, threads_);
  // Called by name, for a compiler's own pragma may bring another OpenMP, with a second team.
  const cpu::OpenMp* openmp = cut.parts == 1 ? nullptr : cpu::onednn_openmp();
  if (openmp == nullptr) return body.call(body.context, 0, count);
  for (int64_t i = 0; i < cut.parts; ++i) shares_[static_cast<size_t>(i)].set(0, cut, i, count, body);
  // The whole team even where there are fewer parts: a team of another size would be made anew.
  openmp->parallel([](void* pool) { static_cast<OmpThreadPool*>(pool)->work(cpu::onednn_openmp()->thread_num()); },
                   this, static_cast<unsigned>(threads_), 0);
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
