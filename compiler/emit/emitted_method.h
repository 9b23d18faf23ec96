// EmittedMethod: a method as the tables of a program, and what it is made with.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/emit/data_pool.h"
#include "compiler/ir/module.h"
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
  /// The key under which the data of a constant, as this tensor, lie outside of the program; empty: they lie in it.
  /// Null: all constants lie in it.
  std::function<std::string(ir::ConstantId, const format::TensorDesc&)> external_key;
};

struct EmittedMethod {
  format::MethodDesc desc;
  IdVector<ir::ValueId, int32_t> value_of;    // its index in the file, or -1
  IdVector<ir::StateId, int32_t> state_of;    // its index in the file, or -1
  IdVector<ir::NodeId, int32_t> scratch_of;   // of a call of a delegate, its index in the file; or -1
  std::vector<ir::NodeId> node_of;            // of each instruction: the node that it comes from; invalid for others
  std::vector<int32_t> first_instruction_of;  // of each step of the model
};

}  // namespace berth::emit
