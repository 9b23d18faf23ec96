// Operators that format/operators.def has under ATen's own name, and operators of one's own: taken over argument by
// argument.
#include <algorithm>

#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

using ir::ParameterType;

// Arguments that say nothing about values: where and how the result is stored.
bool means_nothing(std::string_view name) {
  for (const char* one : {"device", "layout", "pin_memory", "non_blocking", "memory_format", "generator", "copy"}) {
    if (name == one) return true;
  }
  return false;
}

/// The overload that takes a number where `row` takes a tensor; null when there is none.
const ir::Operator* scalar_overload(const ir::Operator& row) {
  static const std::pair<const char*, const char*> kOverloads[] = {
      {".Tensor_mode", ".Scalar_mode"}, {".Tensor_Tensor", ".Tensor_Scalar"}, {".Tensor", ".Scalar"}};
  for (const auto& [tensor, number] : kOverloads) {
    const std::string_view end(tensor);
    const std::string& name = row.functional_name;
    if (name.size() < end.size() || name.compare(name.size() - end.size(), end.size(), end) != 0) continue;
    if (const ir::Operator* found = ir::find_operator(name.substr(0, name.size() - end.size()) + number)) return found;
  }
  return nullptr;
}

/// The overload that takes a tensor where `row` takes a number; null when there is none.
const ir::Operator* tensor_overload(const ir::Operator& row) {
  static const std::pair<const char*, const char*> kOverloads[] = {
      {".Scalar_mode", ".Tensor_mode"}, {".Tensor_Scalar", ".Tensor_Tensor"}, {".Scalar", ".Tensor"}};
  for (const auto& [number, tensor] : kOverloads) {
    const std::string_view end(number);
    const std::string& name = row.functional_name;
    if (name.size() < end.size() || name.compare(name.size() - end.size(), end.size(), end) != 0) continue;
    return ir::find_operator(name.substr(0, name.size() - end.size()) + tensor);
  }
  return nullptr;
}

bool lies_in_tensor(const Argument* a) { return a != nullptr && a->kind == ArgumentKind::kTensor; }

bool is_number(const Argument* a) {
  if (a == nullptr) return false;
  return a->kind == ArgumentKind::kInt || a->kind == ArgumentKind::kFloat || a->kind == ArgumentKind::kBool ||
         a->kind == ArgumentKind::kSymInt || a->kind == ArgumentKind::kSymFloat;
}

ValueId first_tensor(NodeContext& n) {
  for (const NamedArgument& input : n.node().inputs) {
    if (input.value.kind == ArgumentKind::kTensor) return n.tensor(input.name);
  }
  return {};
}

IrArgument converted(NodeContext& n, const ir::Parameter& p) {
  switch (p.type) {
    case ParameterType::kTensor: return n.tensor(p.name, first_tensor(n));
    case ParameterType::kTensorList:
    case ParameterType::kOptionalTensorList: return n.tensors(p.name);
    case ParameterType::kScalar: return n.scalar(p.name, None());
    case ParameterType::kInt: return n.dim(p.name, Dim(0));
    case ParameterType::kIntList: return n.dims(p.name);
    case ParameterType::kFloat: return n.number(p.name, 0);
    case ParameterType::kFloatList: return n.numbers(p.name);
    case ParameterType::kBool: return n.truth(p.name, false);
    case ParameterType::kBoolList: return n.value(*n.argument(p.name), p.name);
    case ParameterType::kString: return n.text(p.name, "");
    case ParameterType::kDType: return number_of(n.dtype(p.name, DType::kF32));
    case ParameterType::kMemoryFormat: return None();  // what is stored how is Berth's own decision
  }
  return None();
}

}  // namespace

void import_generic(NodeContext& n, const ir::Operator& named) {
  const ir::Operator* row = &named;
  if (is_number(n.argument("other")) || is_number(n.argument("exponent"))) {
    const ir::Operator* scalar = scalar_overload(named);
    if (scalar != nullptr && !is_number(n.argument("self"))) row = scalar;
  }
  // A number that only the data tell.
  for (const char* name : {"other", "exponent"}) {
    const int at = row->parameter_index(name);
    const bool number = at >= 0 && row->parameters[at].type == ParameterType::kScalar;
    if (!number || !lies_in_tensor(n.argument(name))) continue;
    if (const ir::Operator* tensor = tensor_overload(*row)) row = tensor;
  }
  for (const NamedArgument& input : n.node().inputs) {
    if (row->parameter_index(input.name) >= 0 || means_nothing(input.name)) continue;
    if (input.value.kind == ArgumentKind::kNone) continue;
    return n.unsupported("argument '" + input.name + "' is not supported");
  }
  std::vector<IrArgument> args;
  for (const ir::Parameter& p : row->parameters) {
    if (n.has(p.name)) {
      args.push_back(converted(n, p));
    } else if (p.default_value.has_value()) {
      args.push_back(*p.default_value);
    } else if (p.optional) {
      args.push_back(None());
    } else {
      return n.invalid("argument '" + std::string(p.name) + "' is missing");
    }
  }
  std::vector<ValueId> results = n.ops(*row, std::move(args));
  if (!n.ok()) return;
  // One's own that changes its arguments gives them as results, which a file written before run_decompositions({}) has
  // not: the change would be lost. After it the call is functionalised, with all results.
  if (row->own != nullptr && results.size() > n.output_count()) {
    return n.unsupported("its " + std::to_string(results.size()) + " results are " + std::to_string(n.output_count()) +
                         " in the file; export a model with operators that change their arguments after "
                         "run_decompositions({})");
  }
  // Results that the file has and the operator lacks are a failure; the other way round they do not occur.
  if (results.size() > n.output_count()) results.resize(n.output_count());
  n.outputs(results);
}

}  // namespace berth::pt2
