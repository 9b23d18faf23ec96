// InstructionObserver: told of each instruction of a Method as it runs: profilers, tests that look at memory between
// instructions, fault injection. Without one, an instruction costs what it costs.
#pragma once

#include <cstddef>

#include "base/error.h"
#include "base/span.h"
#include "runtime/value.h"

namespace berth {

/// An instruction that computes: jumps and frees are not told. Lives for the call.
struct InstructionEvent {
  /// The method's name; "delegate" for the program within a delegate's payload.
  const char* method;
  size_t index;
  /// As Method::instruction_name.
  const char* name;
  /// A kernel's arguments in the order of its schema, a delegate's as its call has them; of a move, from and to.
  Span<EValue* const> args;
  bool is_delegate;
};

/// What it is told nests: a delegate that runs a program tells of its instructions between before() and after() of its
/// call. Called on the thread that runs the Method.
class InstructionObserver {
 public:
  virtual ~InstructionObserver() = default;
  /// An error ends the run in place of the instruction, which is not run then and of which after() does not hear.
  virtual Error before(const InstructionEvent& event) = 0;
  /// `result` is what the instruction gave.
  virtual void after(const InstructionEvent& event, Error result) = 0;
};

}  // namespace berth
