// Rows of 16 bits for kernels of f32: a few at a time are widened, by each thread in temporary memory of its own, and
// what becomes of them is rounded once.
#pragma once

#include <algorithm>

#include "base/math.h"
#include "kernels/cpu/widen.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::cpu {

/// `rows` rows of `n` numbers, one behind the other. REQUIRES: both are at least 1.
struct WideRows {
  /// What a core's nearest cache holds half of, or one row.
  static constexpr int64_t kBlock = 1 << 12;
  /// Fewer are done before another thread has woken.
  static constexpr double kSerial = 1 << 13;

  int64_t rows = 1, n = 1;

  int64_t at_once() const { return std::clamp<int64_t>(kBlock / n, 1, rows); }
  int64_t blocks() const { return ceil_div(rows, at_once()); }
  int slots(int threads) const {
    return portable::slots_for(threads, blocks(), static_cast<double>(rows) * static_cast<double>(n), kSerial);
  }
  /// Of a slot. Fewer rows or shorter ones have no more.
  int64_t floats() const { return align_up<int64_t>(std::min(rows * n, std::max(n, kBlock)), 16); }
  size_t temp_bytes(int threads) const { return static_cast<size_t>(slots(threads) * floats()) * sizeof(float); }

  /// f(first, count, x) for blocks of rows that together are all: x holds rows [first, first + count) in f32, and then
  /// what is rounded into the same rows of `to`. `from` may be `to`.
  template <typename F>
  Error run(KernelContext& context, DType type, const void* from, void* to, F&& f) const {
    auto* const temp = static_cast<float*>(context.allocate_temp(temp_bytes(context.threads())));
    if (temp == nullptr) return Error::kMemoryAllocationFailed;
    portable::for_each_item(
        context, slots(context.threads()), blocks(),
        [&](float* x, int64_t block) {
          const int64_t first = block * at_once();
          const int64_t count = std::min(at_once(), rows - first);
          widen(type, static_cast<const uint16_t*>(from) + first * n, x, count * n);
          f(first, count, x);
          narrow(type, x, static_cast<uint16_t*>(to) + first * n, count * n);
        },
        [&](int64_t slot) { return temp + slot * floats(); });
    return Error::kOk;
  }
};

}  // namespace berth::cpu
