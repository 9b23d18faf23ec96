// One method as the tables of a program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/emit/data_pool.h"
#include "compiler/emit/delegates.h"
#include "compiler/ir/module.h"
#include "compiler/memory/plan_schedule.h"
#include "format/write/program_desc.h"

namespace berth::emit {

/// What is made once a program: data shared by its methods.
struct Pools {
  DataPool constants;
  DataPool initial_values;
  IdVector<ir::ConstantId, uint32_t> constant_numbers;  // its number in `constants`, or 0
};

/// How a method is written.
struct MethodOptions {
  bool stack_traces = false;
  /// The key under which the data of a constant, as this tensor, lie outside of the program; empty: they lie in it. Null:
  /// all constants lie in it.
  std::function<std::string(ir::ConstantId, const format::TensorDesc&)> external_key;
};

struct EmittedMethod {
  format::MethodDesc desc;
  IdVector<ir::ValueId, int32_t> value_of;    // its index in the file, or -1
  IdVector<ir::StateId, int32_t> state_of;    // its index in the file, or -1
  std::vector<ir::NodeId> node_of;            // of each instruction: the node that it comes from; invalid for others
  std::vector<int32_t> first_instruction_of;  // of each step of the model
};

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
/// results by `executorch_prim::et_copy_index`; on devices `berth::row.read` and `berth::row.write` find the slices, and
/// what loops carry moves from row to row (memory::RowHome).
///
/// NotSupported or InvalidArgument, with method and node, for what a program cannot say: scalars as inputs, strings as
/// outputs, a memory format other than contiguous and preserve, a symbol that is not a dimension of anything, a size
/// over 2^31 - 1. REQUIRES: ir::verify is ok.
Expected<EmittedMethod> emit_method(const ir::Module& module, const ir::Method& method, const memory::MethodPlan& plan,
                                    const DelegateCalls& calls, const MethodOptions& options, Pools* pools);

}  // namespace berth::emit
