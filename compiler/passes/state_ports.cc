#include "compiler/passes/state_ports.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "compiler/ir/print.h"
#include "compiler/ir/text.h"

namespace berth::passes {
namespace {

using ir::Method;
using ir::Module;
using ir::StateId;
using ir::TensorType;
using ir::ValueId;

constexpr size_t kNone = SIZE_MAX;

std::string place_of(const StatePorts& pair) {
  const std::string of = pair.method.empty() ? "" : pair.method + ":";
  return "state " + ir::quoted(of + pair.input + "=" + pair.output);
}

size_t find_input(const Method& method, const std::string& name) {
  for (size_t i = 0; i < method.body.inputs.size(); ++i) {
    if (method.value(method.body.inputs[i]).name == name) return i;
  }
  return kNone;
}

size_t find_output(const Method& method, const std::string& name) {
  for (size_t k = 0; k < method.body.outputs.size(); ++k) {
    if (method.output_name(k) == name) return k;
  }
  return kNone;
}

/// "inputs: x, h; outputs: y, hn", with the methods' names where there are several.
std::string ports_text(const Module& module) {
  std::string inputs;
  std::string outputs;
  for (const Method& method : module.methods) {
    const std::string of = module.methods.size() > 1 ? method.name + ":" : "";
    for (ValueId id : method.body.inputs) inputs += (inputs.empty() ? "" : ", ") + of + method.value(id).name;
    for (size_t k = 0; k < method.body.outputs.size(); ++k) {
      outputs += (outputs.empty() ? "" : ", ") + of + method.output_name(k);
    }
  }
  return "inputs: " + (inputs.empty() ? "none" : inputs) + "; outputs: " + (outputs.empty() ? "none" : outputs);
}

std::string free_name(const Module& module, const std::string& wish) {
  const auto is_taken = [&](const std::string& name) {
    return std::any_of(module.states.begin(), module.states.end(), [&](const auto& s) { return s.name == name; });
  };
  std::string name = wish;
  for (int i = 1; is_taken(name); ++i) name = wish + "_" + std::to_string(i);
  return name;
}

class StateMaker {
 public:
  StateMaker(Module& module, const StatePorts& pair) : module_(module), pair_(pair) {}

  Status run() {
    for (Method& method : module_.methods) {
      if (pair_.method.empty() || pair_.method == method.name) BERTH_TRY(add(method));
    }
    if (state_.valid()) return Done{};
    return fail(Error::kInvalidArgument, "there are no such input and output; " + ports_text(module_));
  }

 private:
  Status add(Method& method) {
    const size_t input = find_input(method, pair_.input);
    const size_t output = find_output(method, pair_.output);
    if (input == kNone && output == kNone) return Done{};
    if (input == kNone || output == kNone) {
      return fail(Error::kInvalidArgument, "method " + method.name + " has only the " +
                                               (input == kNone ? "output" : "input") +
                                               ", or the other was named before; METHOD:INPUT=OUTPUT is for one "
                                               "method; " +
                                               ports_text(module_));
    }
    const ValueId before = method.body.inputs[input];
    const ValueId* after = std::get_if<ValueId>(&method.body.outputs[output]);
    const TensorType* type = method.value(before).tensor();
    if (type == nullptr || after == nullptr || !after->valid() || method.value(*after).tensor() == nullptr) {
      return fail(Error::kInvalidArgument, "expected two tensors");
    }
    BERTH_TRY(check_types(*type, method.tensor(*after)));
    if (!state_.valid()) {
      state_ = module_.states.push_back({free_name(module_, pair_.input), *type, std::nullopt});
    }
    write(method, output);
    read(method, input);
    return Done{};
  }

  Status check_types(const TensorType& input, const TensorType& output) {
    const auto text = [&](const TensorType& type) { return ir::print(type, module_.symbols); };
    if (!(input == output)) {
      return fail(Error::kInvalidArgument, "the input is " + text(input) + " and the output " + text(output));
    }
    if (!input.is_static()) {
      return fail(Error::kNotSupported,
                  "has sizes that change, " + text(input) + "; --input-shape " + pair_.input + "=SIZES fixes them");
    }
    if (state_.valid() && !(module_.states[state_].type == input)) {
      return fail(Error::kInvalidArgument,
                  "is " + text(module_.states[state_].type) + " in one method and " + text(input) + " in another");
    }
    return Done{};
  }

  /// The input becomes what reads the state.
  void read(Method& method, size_t input) {
    const ValueId value = method.body.inputs[input];
    method.body.inputs.erase(method.body.inputs.begin() + static_cast<ptrdiff_t>(input));
    ir::Node node;
    node.op = &ir::operator_of(ir::OpId::state_read);
    node.results = {value};
    node.state = state_;
    const ir::NodeId id = method.nodes.push_back(std::move(node));
    method.value(value).kind = ir::ValueKind::kNode;
    method.value(value).node = id;
    method.value(value).result = 0;
    method.body.nodes.insert(method.body.nodes.begin(), id);
  }

  void write(Method& method, size_t output) {
    ir::Node node;
    node.op = &ir::operator_of(ir::OpId::state_write);
    node.args = {method.body.outputs[output]};
    node.state = state_;
    const auto position = static_cast<ptrdiff_t>(output);
    method.body.outputs.erase(method.body.outputs.begin() + position);
    if (output < method.output_names.size()) method.output_names.erase(method.output_names.begin() + position);
    method.body.nodes.push_back(method.nodes.push_back(std::move(node)));
  }

  Failure fail(Error code, std::string message) const { return Failure{code, place_of(pair_), std::move(message)}; }

  Module& module_;
  const StatePorts& pair_;
  StateId state_;
};

}  // namespace

Expected<StatePorts> parse_state_ports(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return Failure{Error::kInvalidArgument, "state " + ir::quoted(text), "expected INPUT=OUTPUT, such as h=hn"};
  }
  return StatePorts{text.substr(0, equals), text.substr(equals + 1), ""};
}

Status make_states(Module& module, const std::vector<StatePorts>& pairs) {
  for (const StatePorts& pair : pairs) BERTH_TRY(StateMaker(module, pair).run());
  return Done{};
}

}  // namespace berth::passes
