// BarrierLoop: a loop whose steps depend on each other while the parts of a step run on several threads, in one
// parallel region. Step t of a part starts when step t - 1 of all parts is done.
//
// Each thread keeps to its part, whose data stay in its cache, and waits for the others at each step. It is correct on
// any pool, even one that runs the ranges one after another: a thread that waits for a part that no thread has started
// runs that part's step itself. So threads wait only for a thread that is running.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>

#include "runtime/kernel.h"

namespace berth::cpu {

class BarrierLoop {
 public:
  /// Bytes of temp memory for up to `parts` parts.
  static size_t temp_bytes(int64_t parts) { return parts * sizeof(Part); }

  /// Calls step(part, t) once for each part in [0, parts) and t in [0, steps). Error::kMemoryAllocationFailed without
  /// temp_bytes(parts) of temp memory. REQUIRES: parts >= 1.
  template <typename Step>
  static Error run(KernelContext& context, int64_t parts, int64_t steps, const Step& step) {
    if (parts == 1) {
      for (int64_t t = 0; t < steps; ++t) step(int64_t{0}, t);
      return Error::kOk;
    }
    void* memory = context.allocate_temp(temp_bytes(parts));
    if (memory == nullptr) return Error::kMemoryAllocationFailed;
    auto* states = static_cast<Part*>(memory);
    for (int64_t p = 0; p < parts; ++p) new (states + p) Part();
    context.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) states[p].has_thread.store(true, std::memory_order_relaxed);
      for (int64_t t = 0; t < steps; ++t) {
        for (int64_t p = begin; p < end; ++p) take(states[p], p, t, step);
        for (int64_t p = 0; p < parts; ++p) await(states[p], p, t, step);
      }
    });
    return Error::kOk;
  }

 private:
  // A cache line each.
  struct alignas(64) Part {
    std::atomic<int64_t> taken{0};  // steps that a thread has begun
    std::atomic<int64_t> done{0};
    std::atomic<bool> has_thread{false};
  };

  // Does step t unless it is taken. REQUIRES: step t - 1 of all parts is done.
  template <typename Step>
  static void take(Part& state, int64_t part, int64_t t, const Step& step) {
    int64_t expected = t;
    if (!state.taken.compare_exchange_strong(expected, t + 1, std::memory_order_relaxed)) return;
    step(part, t);
    state.done.store(t + 1, std::memory_order_release);
  }

  template <typename Step>
  static void await(Part& state, int64_t part, int64_t t, const Step& step) {
    for (int i = 0; state.done.load(std::memory_order_acquire) <= t; ++i) {
      if (!state.has_thread.load(std::memory_order_relaxed)) take(state, part, t, step);
      // A machine whose cores are all busy must get to run the thread that is waited for.
      if (i >= kSpins) std::this_thread::yield();
    }
  }

  static constexpr int kSpins = 4096;
};

}  // namespace berth::cpu
