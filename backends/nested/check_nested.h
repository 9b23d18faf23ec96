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
  /// Of the payload (format/nested.h).
  uint32_t version = 1;
};

/// Refuses, as InvalidProgram and with the place:
///   anything but one method "delegate"; delegates; tensors or arenas on devices; more arenas than the scratch and,
///   since version 2, one for each output; of these one that is not exactly the bytes of its output, or has some
///   without it constants that lie in the payload; state (a scratch keeps nothing from one run to the next) inputs and
///   outputs that have another place, are no tensors, or occur twice instructions that write an input or what is a view
///   of anything; moves of tensors that are not the program's own
///
/// Uses the heap, as much as the method has values. REQUIRES: the program was verified, or comes from where nothing has
/// to be.
Error check_nested(const Program& program, const NestedChecks& checks, format::Report* report);

}  // namespace berth
