// check_nested: what a nested program may not have beyond what any program may not, so that it stays inside of what its
// call was given.
#pragma once

#include "format/report.h"
#include "runtime/program.h"

namespace berth {

struct NestedChecks {
  /// Whether kernels run on the host, and host code may follow their addresses: jumps on a tensor's elements, and
  /// primitive operators that read or write elements, are refused otherwise.
  bool host_kernels = true;
};

/// Refuses, as InvalidProgram and with the place:
///   anything but one method "delegate"; delegates; tensors or arenas on devices; a second arena
///   constants that lie in the payload; state (a scratch keeps nothing from one run to the next)
///   inputs and outputs that have a place, are no tensors, or occur twice
///   instructions that write an input or what is a view of anything; moves of tensors that are not the program's own
///
/// Uses the heap, as much as the method has values. REQUIRES: the program was verified, or comes from where nothing has
/// to be.
Error check_nested(const Program& program, const NestedChecks& checks, format::Report* report);

}  // namespace berth
