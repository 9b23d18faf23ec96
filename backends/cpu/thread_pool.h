// The pool for Methods whose delegates the cpu backend runs.
#pragma once

#include <memory>

#include "runtime/kernel.h"

namespace berth {

/// `threads` counts the calling thread; null for 1 or less, for then none is needed. Its threads are those of a
/// HostThreadPool. While a method of this process uses oneDNN, which runs on OpenMP, work goes to an OmpThreadPool
/// instead, so that oneDNN and our own kernels share their threads and none waits awake while others work. A pool of
/// the application's own may be used just as well: see kernels/cpu/conv.h for what oneDNN does then.
std::unique_ptr<ThreadPool> make_cpu_thread_pool(int threads);

}  // namespace berth
