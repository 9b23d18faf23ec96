// MethodProblem: from a finished method of a program file, ours or ExecuTorch's, to a memory problem: what must stay
// together, and from when to when its bytes are wanted (live_ranges.h).
//
// Values are tied together in one buffer, each at its present distance from the others:
//   views        what nothing writes takes its bytes from the value that lies there (berth.meta says it, or inferred)
//   in place     values whose bytes meet although both are wanted in one step: the plan that the file has is sound
//                (format/plan_check/verify_plan.h), so one was computed into the other
// State is wanted always, and alone. In a file of several methods it keeps its offset, and so does what lies where
// another method has state.
#pragma once

#include <cstdint>
#include <vector>

#include "base/failure.h"
#include "compiler/memory/packing/problem.h"
#include "compiler/memory/replan/live_ranges.h"

namespace berth::replan {

struct ValueInBuffer {
  int32_t value = 0;
  int64_t shift = 0;  // bytes from the buffer's start
};

struct MethodProblem {
  /// Space k is arena k + 1.
  packing::Problem problem;
  /// Of each buffer.
  std::vector<std::vector<ValueInBuffer>> values;
  /// The plan that the file has: one offset a buffer.
  std::vector<int64_t> offsets;
};

/// `elsewhere`: the state of the other methods. OutOfResources for a method whose sweep would take far more time or
/// memory than its size justifies. REQUIRES: the file passed verify_program() and verify_plan().
Expected<MethodProblem> method_problem(const format::ProgramView& program, size_t method,
                                       const std::vector<Reserved>& elsewhere);

}  // namespace berth::replan
