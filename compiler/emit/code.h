// Code: a method's instructions and operators as they are written, one call after the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/emit/value_table.h"
#include "compiler/ir/module.h"
#include "format/write/program_desc.h"

namespace berth::emit {

class Code {
 public:
  /// With `stack_traces`, each instruction gets the model's node that it comes from. The method must outlive this.
  Code(const ir::Method& method, bool stack_traces) : method_(method), stack_traces_(stack_traces) {}

  /// Instructions from here on come from `node`; an invalid id: from no node.
  void come_from(ir::NodeId node) { node_ = node; }

  /// Appends a call of `name.overload`. Each operator stands in the list once, at its first use.
  void call(std::string_view name, std::string_view overload, std::vector<int32_t> args);
  /// The same for the out variant of an operator of the table.
  void call(ir::OpId op, std::vector<int32_t> args);

  /// Appends a call of delegate `index` of the method.
  void call_delegate(int32_t index, std::vector<int32_t> args);

  /// Appends a copy of a tensor to one that is as large; both are on one device.
  void copy(int32_t from, int32_t to);

  /// Appends a jump that is taken when value `condition` is false, and gives its index; land() says where it goes.
  int32_t jump_unless(int32_t condition);
  /// The jump goes to the instruction that comes next, or to `destination`.
  void land(int32_t jump) { land(jump, size()); }
  void land(int32_t jump, int32_t destination);

  int32_t size() const { return static_cast<int32_t>(instructions_.size()); }

  /// Moves all there is into `desc`; the node of each instruction into `nodes`.
  void take(format::MethodDesc* desc, std::vector<ir::NodeId>* nodes) &&;

  ValueTable values;

 private:
  void append(format::InstructionDesc instruction);

  const ir::Method& method_;
  const bool stack_traces_;
  ir::NodeId node_;
  std::vector<format::OperatorDesc> operators_;
  std::unordered_map<std::string, int32_t> operator_index_;  // "name.overload"
  std::vector<format::InstructionDesc> instructions_;
  std::vector<ir::NodeId> nodes_;                       // of each instruction
  std::vector<std::vector<format::FrameDesc>> frames_;  // of each instruction, with stack traces
};

}  // namespace berth::emit
