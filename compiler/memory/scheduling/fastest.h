// The order in which workers that work at the same time are done first (timing.h): copies are handed out early and those
// that the host waits for late, and each device gets what others wait for first.
//
// A beam search over the tasks, one after the other. Of two beginnings with the same tasks one goes where no clock of the
// other is later. What remains is sorted by the time that it cannot end before: what the next tasks need from where the
// clocks stand, and what each worker has left to do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "compiler/memory/scheduling/problem.h"
#include "compiler/memory/scheduling/timing.h"

namespace berth::scheduling {

struct FastestOptions {
  /// Orders in which more are alive while some task runs are not taken.
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

/// Nothing where no order was found that keeps to `most_bytes`, and when the deadline passes. REQUIRES: check(problem) is
/// ok, and a time for each task.
std::optional<FastestOrder> fastest_order(const Problem& problem, const std::vector<TaskTime>& times,
                                          const FastestOptions& options, Deadline* deadline);

}  // namespace berth::scheduling
