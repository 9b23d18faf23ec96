// Calls of delegates: what a backend gets with each.
//
// A delegate that was compiled elsewhere keeps its payload. For the others the region of the call is emitted as a
// nested program (format/nested.h): a method with a memory plan of its own, whose first arena is a scratch that the
// plan around it places like any other tensor.
#pragma once

#include "compiler/emit/data_pool.h"
#include "compiler/emit/delegate_calls.h"
#include "compiler/emit/delegate_constants.h"
#include "compiler/emit/options.h"
#include "compiler/memory/plan_memory.h"

namespace berth::emit {

/// Data that the delegates of all methods share.
struct DelegateData {
  /// `external`: the constants that lie in data files.
  DelegateData(const ir::Module& module, ExternalConstants* external) : constants(module, external) {}

  DataPool payloads;  // entry n of the pool is payload n - 1 of the program
  DelegateConstants constants;
};

/// Makes the payload of every call in the method that `memory` is of, those in branches and loops included; equal ones
/// are stored once. Failures name the call and the node in it.
Expected<DelegateCalls> emit_delegates(const ir::Module& module, const memory::MemoryPlan& memory,
                                       const EmitOptions& options, DelegateData* data);

}  // namespace berth::emit
