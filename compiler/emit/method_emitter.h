// MethodEmitter: appends a method's instructions, node by node. emit_method.cc has nodes and the ends of a method,
// emit_regions.cc branches and loops.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/emit/code.h"
#include "compiler/emit/delegate_calls.h"
#include "compiler/emit/device_rows.h"
#include "compiler/emit/emitted_method.h"
#include "compiler/emit/method_values.h"
#include "compiler/emit/symbols.h"

namespace berth::emit {

class MethodEmitter {
 public:
  /// All must outlive it.
  MethodEmitter(const ir::Module& module, const ir::Method& method, const memory::MethodPlan& plan,
                const DelegateCalls& calls, const MethodOptions& options, Pools* pools);

  Expected<EmittedMethod> run();

 private:
  Failure in_method(const std::string& where, const Failure& failure) const;
  void begin_step(int64_t step);
  void next_step();

  // Nodes.
  Status emit_graph(const ir::Graph& graph);
  Status emit_node(ir::NodeId id);
  Status emit_sizes_view(const ir::Node& node, int32_t result);
  Status emit_call(const ir::Node& node, const std::vector<int32_t>& results);
  Status emit_delegate_call(ir::NodeId id, std::vector<int32_t> results);
  int32_t scratch(ir::NodeId node);
  void append_results(const ir::Operator& op, const std::vector<int32_t>& results, std::vector<int32_t>* args);

  // Branches and loops.
  Status emit_regions(ir::NodeId id);
  Status emit_transfers(ir::NodeId id, size_t place);
  Expected<int32_t> transfer_source(ir::NodeId id, size_t place, const memory::Transfer& transfer);
  Status emit_if(ir::NodeId id);
  Status emit_while(ir::NodeId id);
  Status emit_scan(ir::NodeId id);
  Status begin_stacks(const ir::Node& node);
  Status emit_slices(const ir::Node& node, int32_t counter);
  Status emit_row(ir::ValueId value, ir::ValueId stack, int32_t counter);
  void carry(const ir::Graph& region, size_t count);
  Expected<int32_t> condition(const ir::Argument& argument);

  // The ends of a method.
  Status emit_input(ir::ValueId input);
  Status emit_save(const memory::Save& save);
  Status emit_write_back(const memory::WriteBack& write);
  Status emit_output(const ir::Argument& output);
  Expected<int32_t> use_at_end(ir::ValueId value);

  // Arguments.
  Expected<int32_t> argument(const ir::Argument& argument, ir::ParameterType type);
  Expected<int32_t> number(ir::Dim dim, ir::ParameterType type);
  Expected<int32_t> int_list(const ir::DimList& dims);
  Expected<int32_t> tensor_list(const ir::ValueList& list, bool optional);

  const ir::Module& module_;
  const ir::Method& method_;
  const memory::MemoryModel& model_;
  const packing::Plan& packing_;
  const DelegateCalls& calls_;
  Code code_;
  MethodValues values_;
  DeviceRows rows_;
  SymbolSlots symbols_;
  int depth_ = 0;                                       // regions around what is emitted
  std::unordered_map<int32_t, int32_t> copy_of_;        // ValueId → the value of its saved copy
  std::unordered_map<int32_t, int32_t> output_copies_;  // output → the value that is a copy for it alone
  EmittedMethod out_;
};

}  // namespace berth::emit
