// The pool for Methods whose delegates the cpu backend runs.
#pragma once

#include <memory>

#include "runtime/kernel.h"

namespace berth {

/// `threads` counts the calling thread; null for 1 or less, for then none is needed. With oneDNN in the build it is an
/// OmpThreadPool, so that oneDNN and our own kernels share their threads; otherwise a HostThreadPool. A pool of the
/// application's own may be used just as well: see kernels/cpu/conv.h for what oneDNN does then.
std::unique_ptr<ThreadPool> make_cpu_thread_pool(int threads);

}  // namespace berth
