// ProgramTensors: an archive's parameters, buffers and constants in the IR, as constants, or as states where the model
// changes them.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/import/pt2/payloads.h"
#include "compiler/ir/builder.h"

namespace berth::pt2 {

class ProgramTensors {
 public:
  /// Borrows all; nodes are appended to the method's body.
  ProgramTensors(ir::Module& module, ir::Method& method, ir::Builder& build)
      : module_(module), method_(method), build_(build) {}

  /// The payload as a tensor: stored bytes, permuted and repeated as its strides say. Names that share bytes and type
  /// share the value.
  Expected<ir::ValueId> constant(const std::string& target, const Payload& payload);

  /// The value that the state `target`, the graph's input `name`, has when a call begins; `payload` is its first one.
  /// NotSupported where it does not lie in row-major order.
  Expected<ir::ValueId> state(const std::string& target, const std::string& name, const Payload& payload);

  /// A state in one method.
  struct State {
    ir::StateId id;
    ir::ValueId start;
  };
  /// That of the graph's input `name`, or that of the buffer `target`; null: there is none.
  const State* state_of_input(const std::string& name) const;
  const State* state_of_buffer(const std::string& target) const;

  /// Gives the state its new value. REQUIRES: it has the type of `state.start`.
  void write(const State& state, ir::ValueId value);

 private:
  using ConstantKey = std::tuple<size_t, DType, std::vector<int64_t>, std::vector<int64_t>, std::vector<int64_t>>;

  Status check_stored(const std::string& target, const ir::TensorType& type) const;

  ir::Module& module_;
  ir::Method& method_;
  ir::Builder& build_;
  std::map<ConstantKey, ir::ValueId> constants_;
  std::map<std::string, State> states_;  // by the name of the graph's input
};

}  // namespace berth::pt2
