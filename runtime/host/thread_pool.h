// HostThreadPool: threads for Methods on a machine that has std::thread.
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

/// A fixed number of threads, the caller of run() among them.
///
/// Each thread has the same part of every job, in the order of its items: of two kernels that split their work alike,
/// the second one finds in a core's own cache what the first one left there. A thread that is done with its part helps
/// others from the end of theirs, so that nobody waits for a thread that another program keeps from running, unless
/// it is within a range.
///
/// A thread without work stays awake for about a millisecond, so that the kernels of one run follow each other without
/// waking anybody; most of that time it lets others have its core. Then it sleeps. Where there are more threads than
/// cores it sleeps at once. One pool may serve several Methods, one after the other.
class HostThreadPool final : public ThreadPool {
 public:
  static constexpr int kMaxThreads = 256;

  /// `threads` counts the caller: 1 starts none. Values outside of 1 to kMaxThreads are brought into that range.
  explicit HostThreadPool(int threads);
  ~HostThreadPool() override;
  HostThreadPool(const HostThreadPool&) = delete;
  HostThreadPool& operator=(const HostThreadPool&) = delete;

  int size() const override { return threads_; }
  void run(int64_t count, int64_t grain, ParallelBody body) override;

 private:
  struct Worker;

  Worker& worker(int index) const;
  void wake();
  void work(int self);
  int64_t done(uint32_t job) const;
  void serve(int self);
  bool wait_for_job(const WorkShare& share, uint32_t seen);

  const int threads_;
  bool crowded_ = false;  // there are fewer cores than threads
  std::unique_ptr<Worker[]> workers_;
  uint32_t job_ = 0;
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> others_;
};

}  // namespace berth
