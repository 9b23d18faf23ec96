// The bytes that are live in every schedule, whatever the planner then makes of it.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/memory/scheduling/problem.h"
#include "compiler/memory/scheduling/shared_bytes.h"

namespace berth::scheduling {

/// Whether every schedule of `problem`, with whatever parts in their wholes and results in place, has `bytes` alive at
/// the start, at the end, or while one of `tasks` runs. True is a proof; false says nothing.
///
/// What is alive while a task runs is a cut through a network (live_cut.h). So what lies between two tasks takes its
/// bytes in one form or the other, in whatever order the tasks between them run:
///
///     q, k, v = split(x)           while s runs, v is alive, or x, of which it is a part: one of the two is, as all
///     s = matmul(q, k)             of it was made before, and is wanted after
///     y = matmul(softmax(s), v)
///
/// A result that may take the bytes of an argument counts as far as these may still be wanted by another task, and no
/// more of them than it has itself; of several such arguments it takes the one for which the least comes out.
///
/// Effort is counted: the tasks are tried by what is alive in the order that is given, the most first, and a network
/// that is not pushed full proves less. REQUIRES: check(problem) is ok, `containments` and `tasks` name what is there,
/// each to[i] of problem.in_place has candidates that a plan takes one of at most.
bool every_schedule_needs(const Problem& problem, const std::vector<Containment>& containments,
                          const std::vector<int32_t>& tasks, int64_t bytes);

}  // namespace berth::scheduling
