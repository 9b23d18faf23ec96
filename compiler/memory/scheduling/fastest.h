// The fastest schedule of workers that run in parallel (timing.h): copies are handed out early and those that the host
// waits for late, and each device gets what others wait for first.
//
// A beam search over the tasks, one after the other. Of two beginnings with the same tasks, one is dropped if no clock
// of the other is later. The others are sorted by a lower bound of their end: the longest chain that is left, and what
// each worker has left to do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/scheduling/problem.h"
#include "compiler/memory/scheduling/timing.h"

namespace berth::scheduling {

struct FastestOptions {
  /// The highest peak that is allowed (FastestOrder::peak).
  int64_t most_bytes = INT64_MAX;
  /// Beginnings that are kept after each task; fewer where there are many tasks, or many that may come next.
  int32_t beam = 64;
};

struct FastestOrder {
  std::vector<int32_t> tasks;
  int64_t nanoseconds = 0;
  int64_t peak = 0;         // bytes alive while one task runs, as Schedule::peak
  bool exhaustive = false;  // no order that was left out for the width of the beam can be faster
  int64_t steps = 0;        // of the search: candidates, what each was held against, and tasks that were copied
};

/// Nothing where no order was found that keeps to `most_bytes`, and when the deadline passes. REQUIRES: check(problem)
/// is ok, and a time for each task.
std::optional<FastestOrder> fastest_order(const Problem& problem, const std::vector<TaskTime>& times,
                                          const FastestOptions& options, Deadline* deadline);

}  // namespace berth::scheduling
