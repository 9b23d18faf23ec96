#include "backends/cpu/thread_pool.h"

#include "runtime/host/thread_pool.h"
#ifdef BERTH_ONEDNN
#include "backends/cpu/omp_thread_pool.h"
#include "kernels/cpu/onednn.h"
#endif

namespace berth {
namespace {

#ifdef BERTH_ONEDNN

class CpuThreadPool final : public ThreadPool {
 public:
  explicit CpuThreadPool(int threads) : own_(threads), omp_(own_.size()) {}

  int size() const override { return own_.size(); }
  void run(int64_t count, int64_t grain, ParallelBody body) override {
    if (cpu::onednn_is_used()) return omp_.run(count, grain, body);
    own_.run(count, grain, body);
  }

 private:
  HostThreadPool own_;
  OmpThreadPool omp_;
};

#else

using CpuThreadPool = HostThreadPool;

#endif

}  // namespace

std::unique_ptr<ThreadPool> make_cpu_thread_pool(int threads) {
  if (threads <= 1) return nullptr;
  return std::make_unique<CpuThreadPool>(threads);
}

}  // namespace berth
