// Items of work shared out to threads that each have scratch memory of their own.
#pragma once

#include <algorithm>
#include <atomic>

#include "runtime/kernel.h"

namespace berth::portable {

/// No kernel asks for scratch memory for more threads than this.
constexpr int kMaxSlots = 64;

/// What allocate_temp() may add to align a block that starts anywhere.
constexpr size_t kTempPadding = 63;

/// How many items of `elements` each are worth a thread, for parallel_for.
constexpr int64_t grain_of(int64_t elements) { return elements >= 16384 ? 1 : 16384 / std::max<int64_t>(elements, 1); }

/// How many slots of scratch memory `items` of work deserve: one when all of them together are less than
/// `serial_work`, for waking another thread costs more than it saves then.
inline int slots_for(int threads, int64_t items, double work, double serial_work) {
  if (work < serial_work || items <= 1) return 1;
  return static_cast<int>(std::min<int64_t>(std::clamp(threads, 1, kMaxSlots), items));
}

/// Calls f(worker, item) once for each item in [0, items), where worker = make_worker(slot) is made once by each
/// thread. Slots are below `slots`, and no two threads have the same. A thread takes the next few free items, so that a
/// slow one does not hold up the others.
template <typename F, typename MakeWorker>
void for_each_item(KernelContext& context, int slots, int64_t items, F&& f, MakeWorker&& make_worker) {
  const int64_t share = std::max<int64_t>(1, items / (int64_t{8} * slots));
  std::atomic<int64_t> next{0};
  context.parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      auto worker = make_worker(slot);
      while (true) {
        const int64_t first = next.fetch_add(share, std::memory_order_relaxed);
        if (first >= items) break;
        for (int64_t item = first; item < std::min(first + share, items); ++item) f(worker, item);
      }
    }
  });
}

}  // namespace berth::portable
