// What this machine can do at most, measured: the roof that profiles hold operators under.
//
// S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
// architectures", CACM 52(4), 2009.
#pragma once

#include "runtime/kernel.h"

namespace berth::tool {

struct Roofline {
  /// Single-precision multiplications and additions a second, two a fused one, from registers.
  double flops = 0;
  /// Bytes a second of a sum: over 256 KiB a thread, which stay in its core's own caches; over 4 MiB in all, which a
  /// last cache holds; over 64 MiB, which hardly one does.
  double core_bytes = 0;
  double shared_bytes = 0;
  double memory_bytes = 0;
  int threads = 1;

  /// The least seconds for so much work.
  double seconds(double flop, double bytes) const;
};

/// Takes about 0.2 s on the threads of `pool` (null: on the calling one).
Roofline measure_roofline(ThreadPool* pool);

}  // namespace berth::tool
