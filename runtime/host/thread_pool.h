// HostThreadPool: threads for Methods on a machine that has std::thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/kernel.h"

namespace berth {

/// A fixed number of threads, the caller of run() among them. Idle threads look for work for some ten microseconds, so
/// that the kernels of one run follow each other without waking anybody, and then sleep. One pool may serve several
/// Methods, one after the other.
class HostThreadPool final : public ThreadPool {
 public:
  static constexpr int kMaxThreads = 256;

  /// `threads` counts the caller: 1 starts none. Values outside of 1 to kMaxThreads are brought into that range.
  explicit HostThreadPool(int threads);
  ~HostThreadPool() override;
  HostThreadPool(const HostThreadPool&) = delete;
  HostThreadPool& operator=(const HostThreadPool&) = delete;

  int size() const override { return static_cast<int>(workers_.size()) + 1; }
  void run(int64_t count, int64_t grain, ParallelBody body) override;

 private:
  void work();
  void serve();
  bool wait_for_job(uint64_t seen);

  // The job: written while `open_` is false and nobody is inside, read by those inside.
  int64_t count_ = 0;
  int64_t chunk_ = 1;
  ParallelBody body_ = {nullptr, nullptr};
  std::atomic<int64_t> next_{0};

  std::atomic<bool> open_{false};
  std::atomic<int> inside_{0};
  std::atomic<uint64_t> jobs_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

}  // namespace berth
