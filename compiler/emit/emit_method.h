// Writes one method as the tables of a program.
#pragma once

#include "compiler/emit/delegate_calls.h"
#include "compiler/emit/emitted_method.h"
#include "compiler/memory/plan_schedule.h"

namespace berth::emit {

/// Writes the out variant of each node in the body's order, arguments as the file wants them (docs/format.md). `method`
/// is as `plan` has scheduled it; `calls` says what the calls of delegates call.
///
/// The call of a delegate has its inputs, then its outputs, then, when it needs one, its scratch as arguments: one
/// tensor of bytes on the delegate's device.
///
/// Symbols that arguments mention are computed by `aten::sym_size` and `executorch_prim` operators, each once, as soon
/// as the tensor that they are a dimension of exists.
///
/// Branches and loops become jumps (JumpFalseCall), with the instructions of their regions in line; a constant false
/// makes one that is always taken. A scan counts in an Int value, takes slices by `aten::select_copy` and stacks
/// results by `executorch_prim::et_copy_index`; on devices `berth::row.read` and `berth::row.write` find the slices,
/// and what loops carry moves from row to row (memory::RowHome).
///
/// NotSupported or InvalidArgument, with method and node, for what a program cannot say: scalars as inputs, strings as
/// outputs, a memory format other than contiguous and preserve, a symbol that is not a dimension of anything, a size
/// over 2^31 - 1. REQUIRES: ir::verify is ok.
Expected<EmittedMethod> emit_method(const ir::Module& module, const ir::Method& method, const memory::MethodPlan& plan,
                                    const DelegateCalls& calls, const MethodOptions& options, Pools* pools);

}  // namespace berth::emit
