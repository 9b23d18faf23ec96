// check_nested: what a nested program must not contain, beyond the rules for every program, so that it stays inside the
// memory that its call was given.
#pragma once

#include "format/report.h"
#include "runtime/program.h"

namespace berth {

struct NestedChecks {
  /// Whether kernels run on the host, so that host code may access elements. If not, jumps on a tensor's elements, and
  /// primitive operators that read or write elements, are refused.
  bool host_kernels = true;
  /// The version of the payload (format/nested.h).
  uint32_t version = 1;
};

/// Refuses, as InvalidProgram and with the place, what verify_nested() rejects (format/verify_nested.h), instructions
/// that write an input or a view of anything, and moves of tensors that are not the program's own.
///
/// Allocates from the heap in proportion to the method's values. REQUIRES: the program was verified, or comes from a
/// source that needs no verification.
Error check_nested(const Program& program, const NestedChecks& checks, format::Report* report);

}  // namespace berth
