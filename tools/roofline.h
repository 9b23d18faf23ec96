// The measured limits of this machine, for comparison in profiles.
//
// S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
// architectures", CACM 52(4), 2009.
#pragma once

#include "runtime/kernel.h"

namespace berth::tool {

struct Roofline {
  /// Single-precision operations per second from registers; a fused multiplication and addition counts as two.
  double flops = 0;
  /// Bytes per second of a sum: over 256 KiB for each thread, which fit in its core's own caches; over 4 MiB in total,
  /// which fit in the shared cache; over 64 MiB, which rarely fit in any.
  double core_bytes = 0;
  double shared_bytes = 0;
  double memory_bytes = 0;
  int threads = 1;

  /// The least possible seconds for this cost.
  double seconds(double flop, double bytes) const;
};

/// Takes about 0.2 s on the threads of `pool` (null: on the calling one).
Roofline measure_roofline(ThreadPool* pool);

}  // namespace berth::tool
