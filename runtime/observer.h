// InstructionObserver: called before and after each instruction of a Method, for profilers, fault injection, and tests
// that inspect memory. Costs nothing when there is none.
#pragma once

#include <cstddef>

#include "base/error.h"
#include "base/span.h"
#include "runtime/value.h"

namespace berth {

/// An instruction that computes; jumps and frees are not reported. Valid during the call.
struct InstructionEvent {
  /// The method's name; "delegate" inside a delegate.
  const char* method;
  size_t index;
  /// As Method::instruction_name.
  const char* name;
  /// A kernel's arguments in the order of its schema; a delegate's in the order of its call; of a move, source and
  /// target.
  Span<EValue* const> args;
  bool is_delegate;
};

/// Calls nest: the instructions inside a delegate are reported between before() and after() of the delegate's call.
/// Called on the thread that runs the Method.
class InstructionObserver {
 public:
  virtual ~InstructionObserver() = default;
  /// An error ends the run: the instruction is not run, and after() is not called for it.
  virtual Error before(const InstructionEvent& event) = 0;
  /// `result` is the instruction's result.
  virtual void after(const InstructionEvent& event, Error result) = 0;
  /// Whether after() may look at what the instruction made: copies to the host are then complete when it is called, and
  /// the host waits for each of them.
  virtual bool sees_values() const { return true; }
};

}  // namespace berth
