// Operator scheduling: the order in which the tasks of a graph run determines its peak live memory. A pure function
// from a memory problem over tasks to the order with the lowest peak that was found, with a proof if the search was
// exhaustive.
//
// It knows no offsets: compiler/memory/plan_schedule.h compares packed arenas before it takes a schedule. The order
// that was given is always a candidate, and a result is never worse.
//
// What is done, and whose idea it is:
//   divide      at tasks that every other one comes before or after; the parts are independent
//   exact       best-first search over the sets of tasks done (Ahn and others, "Ordering Chaos", MLSys 2020), where a
//               task that raises neither peak nor memory is run at once: exchanging it forward never hurts
//   beam        where the exact search of a part meets its limit of states
//   windows     then: stretches around the peak, solved exactly while the rest stays
#pragma once

#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "base/failure.h"
#include "compiler/memory/scheduling/problem.h"

namespace berth::scheduling {

struct Options {
  /// States that the exact search may keep for one part, and in all; counted, so that the result does not depend on the
  /// machine.
  int64_t states = 40'000;
  int64_t total_states = 120'000;
  /// Orders that the beam keeps after each task.
  int32_t beam = 32;
  /// Seconds after which every search ends; 0: never. Then the result depends on the machine, and says `truncated`.
  double time_limit = 0;
  Deadline::Clock clock = Deadline::steady_clock;  // tests give their own
  /// Ends every search as the limit does; may be null.
  Watch* watch = nullptr;
};

struct Schedule {
  /// The tasks, first to last.
  std::vector<int32_t> tasks;
  /// The largest sum of bytes alive while one task runs: its inputs' and outputs' among them, those that share counted
  /// once.
  int64_t peak = 0;
  /// The peak of the order that was given.
  int64_t given_peak = 0;
  /// No order has a lower peak than this.
  int64_t lower_bound = 0;
  /// States that the exact searches kept.
  int64_t states = 0;
  /// The time limit ended a search, or kept one from being made.
  bool truncated = false;

  bool optimal() const { return peak == lower_bound; }
};

/// The peak of one order. REQUIRES: check(problem) is ok; `tasks` holds each task once and respects the problem.
int64_t peak_of(const Problem& problem, const std::vector<int32_t>& tasks);

/// Errors as check().
Expected<Schedule> best_schedule(const Problem& problem, const Options& options = {});

}  // namespace berth::scheduling
