// Calls of delegates: what a backend gets with each, and how much scratch it needs.
//
// A delegate that was compiled elsewhere keeps its payload. For the others the region of the call is emitted as a
// nested program (format/nested.h): a method with a memory plan of its own, whose first arena is a scratch that the
// plan around it places like any other tensor. So it must be known before that plan is made. What the scratch has no
// need to hold, as it is dead before a result is written, lies in the result's bytes (lent_results.h).
#pragma once

#include <string>
#include <vector>

#include "compiler/emit/arena_table.h"
#include "compiler/emit/data_pool.h"
#include "compiler/emit/delegate_constants.h"
#include "compiler/emit/emit.h"
#include "compiler/ir/module.h"
#include "format/write/program_desc.h"

namespace berth::emit {

/// What addresses in the method's arenas are multiples of: options.alignment on the host, options.device_alignment
/// elsewhere. At least 16 when the method calls delegates (base/backend_facts.h), on the host 64 when one is of
/// "berth.cpu".
Alignments alignments_of(const ir::Module& module, const ir::Method& method, const EmitOptions& options);

/// The calls of one method.
struct DelegateCalls {
  /// One a call, in the order of the method's nodes; one for all calls of a delegate that was compiled elsewhere.
  std::vector<format::DelegateDesc> delegates;
  std::vector<DelegateReport> reports;  // of each
  std::vector<int32_t> index;           // of each node of the method: its delegate above, or -1
  std::vector<int64_t> scratch_bytes;   // of each node
};

struct Planning;

/// Data that the delegates of all methods share.
struct DelegateData {
  explicit DelegateData(const ir::Module& module) : constants(module) {}

  DataPool payloads;  // entry n of the pool is payload n - 1 of the program
  DelegateConstants constants;
};

/// Makes the payload of every call in the method, those in branches and loops included; equal ones are stored once.
/// Failures name the call and the node in it.
Expected<DelegateCalls> emit_delegates(const ir::Module& module, const ir::Method& method, const EmitOptions& options,
                                       DelegateData* data, Planning* planning);

}  // namespace berth::emit
