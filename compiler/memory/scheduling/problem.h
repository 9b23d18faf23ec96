// Problem: tasks, what must run before what, and the bytes that they make and read. It knows no graph of the IR:
// compiler/memory/schedule_problem.h turns a method into a Problem. Tasks are numbered in the order that was given.
#pragma once

#include <cstdint>
#include <vector>

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

/// InvalidArgument for an index that is not there, a negative size, or an edge or reader that goes backward.
Status check(const Problem& problem);

}  // namespace berth::scheduling
