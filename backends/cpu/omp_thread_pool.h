// OmpThreadPool: the ThreadPool for Methods whose delegates run oneDNN. Only in builds with BERTH_ONEDNN; Methods
// without it use HostThreadPool (runtime/host/thread_pool.h). make_cpu_thread_pool (thread_pool.h) chooses.
#pragma once

#include <memory>

#include "runtime/host/work_share.h"

namespace berth {

/// Runs work in parallel regions of oneDNN's OpenMP, so that oneDNN and Berth's kernels share one team of threads
/// instead of having idle threads of one compete with busy threads of the other. Each thread works on the same part of
/// every job, as in HostThreadPool. The team belongs to the thread that calls run(), which must be the one that
/// executes the Method; OpenMP starts it with the first region and keeps it. OpenMP decides how long idle threads
/// busy-wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT). Without oneDNN, everything runs on the caller.
class OmpThreadPool final : public ThreadPool {
 public:
  static constexpr int kMaxThreads = 256;

  /// `threads` includes the caller; with 1, no region is opened. Clamped to the range from 1 to kMaxThreads.
  explicit OmpThreadPool(int threads);

  int size() const override { return threads_; }
  void run(int64_t count, int64_t grain, ParallelBody body) override;

 private:
  void work(int self);

  int threads_;
  std::unique_ptr<WorkShare[]> shares_;
};

}  // namespace berth
