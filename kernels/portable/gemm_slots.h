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

/// The items that a slot begins with, and those that are left of them.
struct alignas(64) SlotItems {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

/// Calls f(worker, item) once for each item in [0, items), where worker = make_worker(slot) is made once by each
/// thread. Slots are below `slots`, and no two threads have the same. Each begins with the same part of the items as in
/// every kernel, in order, so that it finds in its core's cache what it wrote there before; one that is done takes what
/// is left of the others', so that a slow one does not hold them up.
template <typename F, typename MakeWorker>
void for_each_item(KernelContext& context, int slots, int64_t items, F&& f, MakeWorker&& make_worker) {
  const int64_t share = std::max<int64_t>(1, items / (int64_t{8} * slots));
  SlotItems parts[kMaxSlots];
  for (int i = 0; i < slots; ++i) {
    parts[i].next.store(items * i / slots, std::memory_order_relaxed);
    parts[i].end = items * (i + 1) / slots;
  }
  context.parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      auto worker = make_worker(slot);
      for (int64_t i = 0; i < slots; ++i) {
        SlotItems& part = parts[(slot + i) % slots];
        while (true) {
          const int64_t first = part.next.fetch_add(share, std::memory_order_relaxed);
          if (first >= part.end) break;
          for (int64_t item = first; item < std::min(first + share, part.end); ++item) f(worker, item);
        }
      }
    }
  });
}

}  // namespace berth::portable
