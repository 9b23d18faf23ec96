// Operator scheduling: the order in which the tasks of a graph run determines its peak live memory. A pure function
// from a memory problem over tasks to the order with the lowest peak that was found, with a proof if the search was
// exhaustive.
//
// It knows no graph of the IR and no offsets: compiler/emit turns a method into a Problem, and compares placed arenas
// before it takes an order. Tasks are numbered in the order that was given; that order is always a candidate, and a
// result is never worse.
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

namespace berth::scheduling {

/// `before` runs before `after`.
struct Edge {
  int32_t before = 0;
  int32_t after = 0;
};

/// Bytes that a task makes and others read.
struct Buffer {
  int64_t bytes = 0;
  /// The task that makes it; -1: it is there from the start.
  int32_t producer = -1;
  /// The tasks that read it, in any order, repetitions allowed. They run after the producer: no Edge is needed.
  std::vector<int32_t> readers;
  /// Whether it is still wanted when all tasks are done.
  bool kept = false;
};

/// Buffer `to` may take the bytes of buffer `from` when its producer, a reader of `from`, is the last to read it.
struct InPlace {
  int32_t from = 0;
  int32_t to = 0;
};

struct Problem {
  /// Tasks are 0 to tasks - 1, in the order that was given: every edge and every reader goes forward in it.
  int32_t tasks = 0;
  std::vector<Edge> edges;
  std::vector<Buffer> buffers;
  std::vector<InPlace> in_place;
};

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
};

struct Order {
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

/// InvalidArgument for an index that is not there, a negative size, or an edge or reader that goes backward.
Status check(const Problem& problem);

/// The peak of one order. REQUIRES: check(problem) is ok; `tasks` holds each task once and respects the problem.
int64_t peak_of(const Problem& problem, const std::vector<int32_t>& tasks);

/// Errors as check().
Expected<Order> best_order(const Problem& problem, const Options& options = {});

}  // namespace berth::scheduling
