#include "compiler/import/onnx/own_operators.h"

#include <string>

namespace berth::onnx {
namespace {

using ir::Parameter;
using ir::ParameterType;

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

bool is_tensor_list(const Parameter& parameter) {
  return parameter.type == ParameterType::kTensorList || parameter.type == ParameterType::kOptionalTensorList;
}

bool is_tensors(const Parameter& parameter) {
  return parameter.type == ParameterType::kTensor || is_tensor_list(parameter);
}

Argument number(NodeContext& n, std::string_view name) {
  if (n.attribute(name)->type == AttributeType::kFloat) return n.number(name, 0);
  return Dim(n.integer(name, 0));
}

/// Attribute `parameter.name`, which is there, as the schema wants it.
Argument attribute(NodeContext& n, const Parameter& parameter) {
  const std::string_view name = parameter.name;
  switch (parameter.type) {
    case ParameterType::kScalar:
    case ParameterType::kFloat: return number(n, name);
    case ParameterType::kInt: return Dim(n.integer(name, 0));
    case ParameterType::kBool: return n.integer(name, 0) != 0;
    case ParameterType::kString: return n.text(name, "");
    case ParameterType::kFloatList: return n.numbers(name);
    case ParameterType::kIntList: return ir::dims(n.integers(name));
    case ParameterType::kBoolList: {
      ir::BoolList truths;
      for (const int64_t one : n.integers(name)) truths.push_back(one != 0);
      return truths;
    }
    default: n.unsupported("attribute " + quoted(name) + " has a type in the schema that ONNX does not have");
  }
  return None();
}

/// The inputs that are left, from `*next` on.
ValueList rest(NodeContext& n, const Parameter& parameter, size_t* next) {
  ValueList list;
  for (; *next < n.input_count(); ++*next) {
    const bool there = n.has_input(*next);
    if (!there && parameter.type == ParameterType::kTensorList)
      n.invalid("input " + std::to_string(*next) + " is missing");
    list.push_back(there ? n.input(*next) : ValueId());
  }
  return list;
}

Argument fallback(NodeContext& n, const Parameter& parameter) {
  if (parameter.default_value.has_value()) return *parameter.default_value;
  if (!parameter.optional) {
    n.invalid((is_tensors(parameter) ? "input " : "attribute ") + quoted(parameter.name) + " is missing");
  }
  return None();
}

void check_attributes(NodeContext& n, const ir::Operator& op) {
  for (const Attribute& given : n.node().attributes) {
    const int index = op.parameter_index(given.name);
    if (index < 0 || is_tensors(op.parameters[index])) {
      return n.unsupported("attribute " + quoted(given.name) + " is not in the schema of " + op.functional_name);
    }
  }
}

}  // namespace

const ir::Operator* find_own(const ir::OperatorSet* own, const Node& node) {
  if (own == nullptr || node.domain.empty()) return nullptr;
  std::string name = std::string(node.domain) + "::" + std::string(node.op_type);
  if (!node.overload.empty()) name += "." + std::string(node.overload);
  return own->find(name);
}

void import_own(NodeContext& n, const ir::Operator& op) {
  check_attributes(n, op);
  std::vector<Argument> args;
  size_t next = 0;
  for (const Parameter& parameter : op.parameters) {
    if (!n.ok()) return;
    if (is_tensor_list(parameter)) {
      args.emplace_back(rest(n, parameter, &next));
    } else if (is_tensors(parameter)) {
      args.push_back(n.has_input(next) ? Argument(n.input(next)) : fallback(n, parameter));
      ++next;
    } else {
      args.push_back(n.has_attribute(parameter.name) ? attribute(n, parameter) : fallback(n, parameter));
    }
  }
  if (next < n.input_count()) {
    return n.invalid("takes at most " + std::to_string(next) + " inputs, found " + std::to_string(n.input_count()));
  }
  const std::vector<ValueId> results = n.ops(op, std::move(args));
  if (!n.ok()) return;
  if (results.size() < n.output_count()) {
    return n.invalid("has " + std::to_string(n.output_count()) + " outputs in the model, and " +
                     std::to_string(results.size()) + " in the schema of " + op.functional_name);
  }
  for (size_t i = 0; i < n.output_count(); ++i) n.output(i, results[i]);
}

}  // namespace berth::onnx
