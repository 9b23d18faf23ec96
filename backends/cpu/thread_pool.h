// The thread pool for Methods with delegates of the cpu backend.
#pragma once

#include <memory>

#include "runtime/kernel.h"

namespace berth {

/// A HostThreadPool with `threads` threads, including the calling one; null for 1 or less, where no pool is needed.
/// While a method of this process uses oneDNN, which runs on OpenMP, work goes to an OmpThreadPool instead, so that
/// both share their threads. Applications may use their own pool: see kernels/cpu/conv.h for how oneDNN then behaves.
std::unique_ptr<ThreadPool> make_cpu_thread_pool(int threads);

}  // namespace berth
