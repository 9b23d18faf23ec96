// OmpThreadPool: the ThreadPool for Methods whose delegates run oneDNN. Only in builds with BERTH_ONEDNN; Methods
// without it use HostThreadPool (runtime/host/thread_pool.h). make_cpu_thread_pool (thread_pool.h) chooses.
#pragma once

#include <memory>

#include "runtime/host/work_share.h"

namespace berth {

/// Runs work in OpenMP regions of the library that oneDNN runs on, which is opened with it: so one team serves oneDNN
/// and our own kernels, and no thread waits awake for work of its own while another one works. Each thread of the team
/// has the same part of every job, as in HostThreadPool. The team belongs to the thread that calls run(), which must be
/// the one that executes the Method; OpenMP starts it at the first region and keeps it. How long idle threads stay
/// awake is OpenMP's to say (OMP_WAIT_POLICY, GOMP_SPINCOUNT). Where there is no oneDNN, the caller works alone.
class OmpThreadPool final : public ThreadPool {
 public:
  static constexpr int kMaxThreads = 256;

  /// `threads` counts the caller; 1 never opens a region. Values outside of 1 to kMaxThreads are brought into that
  /// range.
  explicit OmpThreadPool(int threads);

  int size() const override { return threads_; }
  void run(int64_t count, int64_t grain, ParallelBody body) override;

 private:
  void work(int self);

  int threads_;
  std::unique_ptr<WorkShare[]> shares_;
};

}  // namespace berth
