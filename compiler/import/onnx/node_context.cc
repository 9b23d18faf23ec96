#include "compiler/import/onnx/node_context.h"

#include <algorithm>
#include <cmath>

namespace berth::onnx {

std::string node_source(const Node& node, std::string_view caller) {
  std::string name = caller.empty() ? "" : std::string(caller) + "/";
  if (!node.name.empty()) return name + std::string(node.name);
  name += node.op_type;
  for (std::string_view output : node.outputs) {
    if (!output.empty()) return name + " of " + std::string(output);
  }
  return name;
}

namespace {

lowering::NodeName name_of(const Node& node, std::string source) {
  lowering::NodeName name{"onnx node \"" + source + "\"", std::string(node.op_type), std::move(source), ""};
  name.wish = node.outputs.empty() || node.outputs[0].empty() ? name.type : std::string(node.outputs[0]);
  return name;
}

}  // namespace

NodeContext::NodeContext(ImportState& state, Scope& scope, const Node& node, AttributeList attributes, int64_t opset,
                         std::string source)
    : Lowering(state.build, name_of(node, std::move(source))),
      state_(state),
      scope_(scope),
      node_(node),
      attributes_(std::move(attributes)),
      opset_(opset),
      first_new_value_(state.method.values.next_id()) {}

Operand* NodeContext::operand(size_t i) {
  if (!ok()) return nullptr;
  if (!has_input(i)) {
    invalid("input " + std::to_string(i) + " is missing");
    return nullptr;
  }
  Operand* found = scope_.find(node_.inputs[i]);
  if (found == nullptr) {
    invalid("input \"" + std::string(node_.inputs[i]) +
            "\" is not defined, or it is computed from this node's own results");
    return nullptr;
  }
  if (found->id.valid() || found->known.has_value() || !found->is_tensor()) return found;
  auto literal = found->initializer != nullptr ? state_.literals.read(*found->initializer)
                                               : state_.literals.read(*found->sparse_initializer);
  if (!literal.ok()) {
    fail(literal.error());
    return nullptr;
  }
  // Small ones may be nothing but sizes; they become constants only where a tensor is asked for.
  const ir::Constant constant{"", std::move(literal->type), std::move(literal->blob)};
  found->known = known_of(constant);
  if (!found->known.has_value()) found->id = state_.build.constant(constant.type, constant.blob, node_.inputs[i]);
  return found;
}

Operand* NodeContext::tensor_operand(size_t i) {
  Operand* found = operand(i);
  if (found == nullptr || found->is_tensor()) return found;
  unsupported("input " + std::to_string(i) + " (\"" + std::string(node_.inputs[i]) +
              "\") must be a tensor here, found " +
              (found->is_nothing ? "an optional value that holds nothing" : "a sequence"));
  return nullptr;
}

ValueId NodeContext::input(size_t i) {
  Operand* found = tensor_operand(i);
  if (found == nullptr) return {};
  if (!found->id.valid()) {
    // Sizes become nodes of the graph that asks, which the graphs around it do not see.
    if (!found->known->is_constant()) found = scope_.own(node_.inputs[i]);
    found->id = materialize(*found->known, node_.inputs[i]);
  }
  return found->id;
}

Operand NodeContext::input_operand(size_t i) {
  const Operand* found = operand(i);
  return found == nullptr ? Operand() : *found;
}

ValueId NodeContext::tensor_of(const Operand& operand) {
  if (operand.id.valid() || !operand.known.has_value()) return operand.id;
  return materialize(*operand.known, source());
}

ValueList NodeContext::all_inputs() {
  ValueList values;
  for (size_t i = 0; i < input_count(); ++i) values.push_back(input(i));
  return values;
}

std::optional<Known> NodeContext::known(size_t i) {
  Operand* found = operand(i);
  if (found == nullptr || !found->is_tensor()) return std::nullopt;
  if (found->known.has_value()) return found->known;
  const ir::Constant* constant = ir::constant_of(state_.module, state_.method, found->id);
  return constant == nullptr ? std::nullopt : known_of(*constant);
}

DimList NodeContext::known_dims(size_t i, const char* what) {
  const std::optional<Known> elements = known(i);
  if (!ok()) return {};
  if (!elements.has_value() || elements->floating() || elements->shape.size() > 1) {
    fail(Error::kNotSupported, std::string(what) + " (input " + std::to_string(i) +
                                   ") must be known when the model is compiled; here it depends on the data");
    return {};
  }
  DimList dims;
  for (const Number& number : elements->elements) dims.push_back(number.whole);
  return dims;
}

std::vector<int64_t> NodeContext::known_integers(size_t i, const char* what) {
  std::vector<int64_t> numbers;
  for (Dim d : known_dims(i, what)) numbers.push_back(fixed(d, what));
  return numbers;
}

double NodeContext::known_number(size_t i, const char* what) {
  const std::optional<Known> elements = known(i);
  if (!ok()) return 0;
  if (!elements.has_value() || elements->elements.size() != 1 || !elements->is_constant()) {
    unsupported(std::string(what) + " (input " + std::to_string(i) +
                ") must be one number that is known when the model is compiled; here it depends on the data");
    return 0;
  }
  const Number& number = elements->elements[0];
  return elements->floating() ? number.real : static_cast<double>(number.whole.value);
}

std::optional<Dim> NodeContext::known_whole(size_t i) {
  const std::optional<Known> elements = known(i);
  if (elements.has_value() && elements->elements.size() != 1) return std::nullopt;
  if (elements.has_value()) {
    const Number& number = elements->elements[0];
    if (!elements->floating()) return number.whole;
    if (number.real != std::floor(number.real) || std::abs(number.real) > 1e15) return std::nullopt;
    return Dim(static_cast<int64_t>(number.real));
  }
  ValueId value = input(i);
  for (int depth = 0; depth < 8 && value.valid(); ++depth) {
    const ir::Value& made = method().value(value);
    const ir::Node* node = made.kind == ir::ValueKind::kNode ? &method().node(made.node) : nullptr;
    if (node == nullptr || ir::max_numel(method().tensor(value), symbols()) != 1) return std::nullopt;
    const DType type = method().tensor(value).dtype;
    if (type != DType::kI64 && type != DType::kI32 && !is_floating(type)) return std::nullopt;
    if (node->is(OpId::full_out)) {
      const Dim* whole = std::get_if<Dim>(&node->args[arg::full_out::fill_value]);
      return whole == nullptr ? std::nullopt : std::optional<Dim>(*whole);
    }
    if (!node->op->is_reshape() && !node->is(OpId::to_dim_order_copy_out)) return std::nullopt;
    const ValueId* from = std::get_if<ValueId>(&node->args[0]);
    value = from == nullptr ? ValueId() : *from;
  }
  return std::nullopt;
}

int64_t NodeContext::known_integer(size_t i, const char* what) {
  const double number = known_number(i, what);
  if (!ok()) return 0;
  const std::optional<Known> exact = known(i);
  if (!exact->floating()) return exact->elements[0].whole.value;
  if (!(std::abs(number) <= 4.6e18)) {
    invalid(std::string(what) + " is not an integer of 64 bits");
    return 0;
  }
  return static_cast<int64_t>(number);
}

void NodeContext::output(size_t i, ValueId value) {
  if (!ok() || !names_output(i)) return;
  if (!value.valid()) return fail(Error::kInternal, "output " + std::to_string(i) + " was not computed");
  if (!(value < first_new_value_) && state_.method.value(value).kind == ir::ValueKind::kNode) {
    state_.method.rename(value, node_.outputs[i]);
  }
  Operand operand;
  operand.id = value;
  scope_.operands[node_.outputs[i]] = std::move(operand);
}

void NodeContext::output(size_t i, Known known) {
  if (!ok() || !names_output(i)) return;
  Operand operand;
  operand.known = std::move(known);
  scope_.operands[node_.outputs[i]] = std::move(operand);
}

void NodeContext::output(size_t i, Operand operand) {
  if (ok() && names_output(i)) scope_.operands[node_.outputs[i]] = std::move(operand);
}

void NodeContext::output_literal() {
  const Attribute* dense = attribute("value");
  const Attribute* sparse = attribute("sparse_value");
  Operand operand;
  if (dense != nullptr && dense->type == AttributeType::kTensor && !dense->tensors.empty()) {
    operand.initializer = &dense->tensors[0];
  } else if (sparse != nullptr && sparse->type == AttributeType::kSparseTensor && !sparse->sparses.empty()) {
    operand.sparse_initializer = &sparse->sparses[0];
  } else {
    return invalid("has no attribute that gives its value");
  }
  if (ok() && names_output(0)) scope_.operands[node_.outputs[0]] = operand;
}

void NodeContext::forward(size_t i, size_t j) {
  const Operand* from = operand(j);
  if (from == nullptr || !names_output(i)) return;
  Operand copy = *from;
  scope_.operands[node_.outputs[i]] = std::move(copy);
}

int NodeContext::uses(std::string_view name) const {
  const auto found = scope_.uses.find(name);
  return found == scope_.uses.end() ? 0 : found->second;
}

}  // namespace berth::onnx
