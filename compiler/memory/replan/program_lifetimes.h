// From a finished method of a program file, ours or ExecuTorch's, to a memory problem: what must stay together, and
// from when to when its bytes are wanted.
//
//     step 0        the caller sets the inputs
//     step 1 + k    instruction k
//     step 1 + n    the caller reads the outputs
//
// How. A backward sweep over the instructions, repeated until jumps add nothing, gives the steps in which each value is
// still to be read. Then values are tied together, each at its present distance from the others:
//   views        what nothing writes takes its bytes from the value that lies there (berth.meta says it, or inferred)
//   in place     values whose bytes meet although both are wanted in one step: the plan that the file has is sound
//                (format/plan_check/verify_plan.h), so one was computed into the other
// State (read before it is written and no input, or with a name or an initial value) is wanted always, and alone. In a
// file of several methods it keeps its offset, and so does what lies where another method has state. What a MoveCall or
// et_view renames is wanted as long as any of its names. Arguments of delegates are wanted from their first to their
// last mention.
#pragma once

#include <cstdint>
#include <vector>

#include "base/failure.h"
#include "compiler/memory/packing/problem.h"
#include "format/program_view.h"

namespace berth::replan {

/// A planned value inside a storage.
struct Member {
  int32_t value = 0;
  int64_t delta = 0;  // bytes from the storage's start
};

struct Lifetimes {
  /// Space k is arena k + 1.
  packing::Problem problem;
  /// Of each storage.
  std::vector<std::vector<Member>> members;
  /// The plan that the file has: one offset a storage.
  std::vector<int64_t> offsets;
};

/// What state of one method takes of an arena that all methods may share.
struct Reserved {
  uint32_t memory_id = 1;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// `elsewhere`: the state of the other methods. OutOfResources for a method whose sweep would take far more time or
/// memory than its size justifies. REQUIRES: the file passed verify_program() and verify_plan().
Expected<Lifetimes> program_lifetimes(const format::ProgramView& program, size_t method,
                                      const std::vector<Reserved>& elsewhere);

/// The state of a method: what other methods that share its arenas must leave alone.
Expected<std::vector<Reserved>> reserved_state(const format::ProgramView& program, size_t method);

}  // namespace berth::replan
