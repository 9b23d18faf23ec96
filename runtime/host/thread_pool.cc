#include "runtime/host/thread_pool.h"

#include <algorithm>
#include <chrono>

namespace berth {
namespace {

using Clock = std::chrono::steady_clock;

// A thread polls for work kSpins times without yielding, and then for kAwake while it yields its core.
constexpr int kSpins = 2000;
constexpr auto kAwake = std::chrono::microseconds(1000);
// How often the caller polls for the end of the job before it yields its core.
constexpr int kPatience = 1000;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

struct HostThreadPool::Worker {
  WorkShare share;
  // The number of ranges that this thread has done of its last job: [job:32][count:32].
  alignas(64) std::atomic<uint64_t> done{0};

  void count_range(uint32_t job) {
    const uint64_t before = done.load(std::memory_order_relaxed);
    const uint64_t none = static_cast<uint64_t>(job) << 32;
    done.store((before >> 32 == job ? before : none) + 1, std::memory_order_release);
  }
};

HostThreadPool::HostThreadPool(int threads) : threads_(std::clamp(threads, 1, kMaxThreads)) {
  if (threads_ == 1) return;
  crowded_ = static_cast<unsigned>(threads_) > std::max(1U, std::thread::hardware_concurrency());
  workers_ = std::make_unique<Worker[]>(threads_);
  others_.threads.reserve(threads_ - 1);
  for (int i = 1; i < threads_; ++i) others_.threads.emplace_back([this, i] { serve(i); });
}

HostThreadPool::~HostThreadPool() = default;

HostThreadPool::Others::~Others() {
  {
    const std::lock_guard<std::mutex> lock(pool->mutex_);
    pool->stop_ = true;
  }
  pool->wake_.notify_all();
  for (std::thread& other : threads) other.join();
}

HostThreadPool::Worker& HostThreadPool::worker(int index) const { return workers_[index]; }

void HostThreadPool::run(int64_t count, int64_t grain, ParallelBody body) {
  if (count <= 0) return;
  const WorkCut cut = WorkCut::of(count, grain, threads_);
  if (cut.parts == 1) return body.call(body.context, 0, count);
  const uint32_t job = ++job_;
  // The caller's own part last, so that the others can begin.
  for (int i = static_cast<int>(cut.parts) - 1; i >= 0; --i) worker(i).share.set(job, cut, i, count, body);
  wake();
  work(0);
  for (int i = 0; done(job) < cut.total(); ++i) {
    if (i < kPatience) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
}

void HostThreadPool::wake() {
  if (sleepers_ == 0) return;
  // Locked and unlocked, so that a thread that is about to sleep has either seen the job or will get the notification.
  { const std::lock_guard<std::mutex> lock(mutex_); }
  wake_.notify_all();
}

void HostThreadPool::work(int self) {
  Worker& own = worker(self);
  uint32_t job = 0;
  while (own.share.do_first(&job)) own.count_range(job);
  for (int i = 1; i < threads_; ++i) {
    WorkShare& other = worker((self + i) % threads_).share;
    while (other.do_last(&job)) own.count_range(job);
  }
}

int64_t HostThreadPool::done(uint32_t job) const {
  int64_t sum = 0;
  for (int i = 0; i < threads_; ++i) {
    const uint64_t word = worker(i).done.load(std::memory_order_acquire);
    if (word >> 32 == job) sum += static_cast<int64_t>(word & 0xFFFFFFFF);
  }
  return sum;
}

void HostThreadPool::serve(int self) {
  const WorkShare& share = worker(self).share;
  uint32_t seen = 0;
  while (wait_for_job(share, seen)) {
    seen = share.job();
    work(self);
  }
}

bool HostThreadPool::wait_for_job(const WorkShare& share, uint32_t seen) {
  for (int i = 0; i < kSpins && !crowded_; ++i) {
    if (stop_) return false;
    if (share.job() != seen) return true;
    pause_briefly();
  }
  for (const auto end = Clock::now() + kAwake; !crowded_ && Clock::now() < end;) {
    if (stop_) return false;
    if (share.job() != seen) return true;
    std::this_thread::yield();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  ++sleepers_;
  wake_.wait(lock, [&] { return stop_ || share.job() != seen; });
  --sleepers_;
  return !stop_;
}

}  // namespace berth
