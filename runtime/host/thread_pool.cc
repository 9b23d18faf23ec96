#include "runtime/host/thread_pool.h"

namespace berth {
namespace {

// About 20 microseconds; longer than the gap between two kernels of one run, shorter than waking a thread twice.
constexpr int kSpins = 1000;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

HostThreadPool::HostThreadPool(int threads) {
  const int others = (threads < 1 ? 1 : threads > kMaxThreads ? kMaxThreads : threads) - 1;
  workers_.reserve(static_cast<size_t>(others));
  for (int i = 0; i < others; ++i) workers_.emplace_back([this] { serve(); });
}

HostThreadPool::~HostThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void HostThreadPool::run(int64_t count, int64_t grain, ParallelBody body) {
  if (count <= 0) return;
  if (workers_.empty() || count <= grain) return body.call(body.context, 0, count);
  // Four ranges a thread: enough to even out threads of unequal speed.
  const int64_t ranges = int64_t{4} * size();
  const int64_t even = count / ranges + (count % ranges != 0 ? 1 : 0);
  count_ = count;
  chunk_ = even < grain ? grain : even;
  body_ = body;
  next_ = 0;
  open_ = true;
  ++jobs_;
  if (sleepers_ > 0) {
    // Taken and released, so that a thread that is about to sleep has either seen the job or will hear the call.
    { const std::lock_guard<std::mutex> lock(mutex_); }
    wake_.notify_all();
  }
  work();
  open_ = false;
  for (int i = 0; inside_ > 0; ++i) {
    if (i < kSpins) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
}

void HostThreadPool::work() {
  for (;;) {
    const int64_t begin = next_.fetch_add(chunk_);
    if (begin >= count_) return;
    const int64_t left = count_ - begin;
    body_.call(body_.context, begin, begin + (left < chunk_ ? left : chunk_));
  }
}

// Who is inside when `open_` was true reads one whole job: run() changes it only while closed and empty.
void HostThreadPool::serve() {
  uint64_t seen = 0;
  while (wait_for_job(seen)) {
    seen = jobs_;
    ++inside_;
    if (open_) work();
    --inside_;
  }
}

bool HostThreadPool::wait_for_job(uint64_t seen) {
  for (int i = 0; i < kSpins; ++i) {
    if (stop_) return false;
    if (jobs_ != seen) return true;
    pause_briefly();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  ++sleepers_;
  wake_.wait(lock, [&] { return stop_ || jobs_ != seen; });
  --sleepers_;
  return !stop_;
}

}  // namespace berth
