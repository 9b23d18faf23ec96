// HostThreadPool: a ThreadPool of std::threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/host/work_share.h"

namespace berth {

/// A fixed number of threads, including the caller of run().
///
/// Each thread works on the same part of every job, in order, so that if two kernels split their work in the same way,
/// the second finds the data of the first in the core's cache. A thread that finishes its part takes work from the end
/// of others' parts, so that a thread that the system has descheduled delays the job by at most one range.
///
/// An idle thread polls for about a millisecond, mostly yielding its core, so that consecutive kernels of a run do not
/// have to wake threads. Then it sleeps. If there are more threads than cores it sleeps at once. One pool may serve
/// several Methods, one at a time.
class HostThreadPool final : public ThreadPool {
 public:
  static constexpr int kMaxThreads = 256;

  /// `threads` includes the caller: 1 starts none. Clamped to the range from 1 to kMaxThreads.
  explicit HostThreadPool(int threads);
  ~HostThreadPool() override;
  HostThreadPool(const HostThreadPool&) = delete;
  HostThreadPool& operator=(const HostThreadPool&) = delete;

  int size() const override { return threads_; }
  void run(int64_t count, int64_t grain, ParallelBody body) override;

 private:
  struct Worker;
  /// Stops and joins on destruction, also of a pool whose threads could not all be started.
  struct Others {
    explicit Others(HostThreadPool* of) : pool(of) {}
    ~Others();
    HostThreadPool* pool;
    std::vector<std::thread> threads;
  };

  Worker& worker(int index) const;
  void wake();
  void work(int self);
  int64_t done(uint32_t job) const;
  void serve(int self);
  bool wait_for_job(const WorkShare& share, uint32_t seen);

  const int threads_;
  bool crowded_ = false;  // there are more threads than cores
  std::unique_ptr<Worker[]> workers_;
  uint32_t job_ = 0;
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  Others others_{this};  // last: its destructor uses the rest
};

}  // namespace berth
