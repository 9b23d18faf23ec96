#include "backends/cpu/thread_pool.h"

#ifdef BERTH_ONEDNN
#include "backends/cpu/omp_thread_pool.h"
#else
#include "runtime/host/thread_pool.h"
#endif

namespace berth {

std::unique_ptr<ThreadPool> make_cpu_thread_pool(int threads) {
  if (threads <= 1) return nullptr;
#ifdef BERTH_ONEDNN
  return std::make_unique<OmpThreadPool>(threads);
#else
  return std::make_unique<HostThreadPool>(threads);
#endif
}

}  // namespace berth
