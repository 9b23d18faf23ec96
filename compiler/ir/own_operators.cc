#include "compiler/ir/own_operators.h"

#include "base/operator_name.h"
#include "compiler/ir/operator_schema.h"
#include "compiler/ir/text.h"

namespace berth::ir {
namespace {

/// The device of a result is that of the first tensor argument, as in all shape rules.
Device device_of(const ShapeQuery& query) {
  for (const Argument& argument : query.args) {
    const TensorType* type = nullptr;
    for_each_value(argument, [&](const ValueId& id) {
      if (type == nullptr) type = query.method.value(id).tensor();
    });
    if (type != nullptr) return type->device;
  }
  return Device();
}

Expected<std::vector<Type>> infer_own(const ShapeQuery& query) {
  auto types = query.op.own->infer(OwnCall{query});
  if (!types.ok()) {
    Failure failure = types.error();
    failure.place = query.op.functional_name;
    return failure;
  }
  if (!query.op.output_is_list && types->size() != query.op.outputs.size()) {
    return Failure{Error::kInvalidArgument, query.op.functional_name,
                   "its shape rule gives " + std::to_string(types->size()) + " results, its schema has " +
                       std::to_string(query.op.outputs.size())};
  }
  std::vector<Type> results;
  for (TensorType& type : *types) {
    type.device = device_of(query);
    results.emplace_back(std::move(type));
  }
  return results;
}

bool is_tensors(const Parameter& parameter) {
  return parameter.type == ParameterType::kTensor || parameter.type == ParameterType::kTensorList ||
         parameter.type == ParameterType::kOptionalTensorList;
}

}  // namespace

Status OperatorSet::add(OwnOperator own) {
  auto row = std::make_unique<Row>();
  row->own = std::move(own);
  const OwnOperator& said = row->own;
  const auto wrong = [&](const std::string& why) {
    return Failure{Error::kInvalidArgument, "operator " + quoted(said.name), why};
  };
  if (std::string problem = own_operator_problem(said.name); !problem.empty()) return wrong(problem);
  if (rows_.count(said.name) != 0) return wrong("is there twice");
  if (std::string problem = schema_problem(said.schema); !problem.empty()) return wrong("schema: " + problem);
  if (!said.infer) return wrong("it has no shape rule");
  const size_t dot = said.name.find('.', said.name.find("::"));
  if (said.out_overload.empty()) {
    row->own.out_overload = dot == std::string::npos ? "out" : said.name.substr(dot + 1) + "_out";
  }
  if (!own_operator_problem("own::op." + said.out_overload).empty()) {
    return wrong("its out overload is not letters, digits and underscores");
  }
  Operator& op = row->op;
  op.id = OpId::own;
  op.name = std::string_view(said.name).substr(0, dot);
  op.functional_name = said.name;
  op.out_overload = said.out_overload;
  parse_schema(said.schema, op);
  op.infer = infer_own;
  op.in_place_arguments = said.in_place_arguments;
  op.in_place = said.in_place_arguments == 0 ? InPlaceClass::kNever : InPlaceClass::kElement;
  op.elements = ElementUse::kMoves;
  op.own = &row->own;
  op.has_effects = said.has_effects;
  for (size_t i = 0; i < 32; ++i) {
    if ((said.in_place_arguments >> i & 1u) == 0 || (i < op.parameters.size() && is_tensors(op.parameters[i])))
      continue;
    return wrong("it works in place of argument " + std::to_string(i) + ", which is not a tensor");
  }
  if (find_out_variant(op.name, op.out_overload) != nullptr) {
    return wrong("another operator has the kernel " + std::string(op.name) + "." + said.out_overload);
  }
  rows_.emplace(said.name, std::move(row));
  return Done{};
}

const Operator* OperatorSet::find(std::string_view name) const {
  const auto found = rows_.find(name);
  return found == rows_.end() ? nullptr : &found->second->op;
}

const Operator* OperatorSet::find_out_variant(std::string_view name, std::string_view out_overload) const {
  for (auto row = rows_.lower_bound(name); row != rows_.end(); ++row) {
    const Operator& op = row->second->op;
    if (row->first.compare(0, name.size(), name) != 0) return nullptr;
    if (op.name == name && op.out_overload == out_overload) return &op;
  }
  return nullptr;
}

std::string OperatorSet::names() const {
  std::string names;
  for (const auto& row : rows_) names += (names.empty() ? "" : ", ") + row.first;
  return names;
}

const Operator* find_operator(std::string_view functional_name, const OperatorSet* own) {
  const Operator* found = find_operator(functional_name);
  return found != nullptr || own == nullptr ? found : own->find(functional_name);
}

const Operator* find_out_variant(std::string_view name, std::string_view out_overload, const OperatorSet* own) {
  const Operator* found = find_out_variant(name, out_overload);
  return found != nullptr || own == nullptr ? found : own->find_out_variant(name, out_overload);
}

}  // namespace berth::ir
