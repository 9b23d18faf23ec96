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

std::string text_of(const Module& module, const Method& method, const Argument& argument) {
  std::string text;
  const auto item = [&](const std::string& one) { text += (text.empty() ? "" : ",") + one; };
  for_each_value(argument, [&](const ValueId& id) { item(method.value(id).name); });
  for_each_dim(argument, [&](const Dim& dim) { item(module.symbols.text(dim)); });
  if (const auto* number = std::get_if<double>(&argument)) item(real_text(*number));
  if (const auto* numbers = std::get_if<FloatList>(&argument)) {
    for (const double number : *numbers) item(real_text(number));
  }
  if (const auto* flag = std::get_if<bool>(&argument)) item(*flag ? "true" : "false");
  if (const auto* flags = std::get_if<BoolList>(&argument)) {
    for (const bool flag : *flags) item(flag ? "true" : "false");
  }
  if (const auto* words = std::get_if<std::string>(&argument)) item(quoted(*words));
  return "[" + text + "]";
}

bool mentions(const Symbols& symbols, Dim dim, Dim size) {
  if (dim.is_constant()) return false;
  if (dim == size) return true;
  const Symbol& symbol = symbols[dim.symbol];
  return symbol.kind != SymbolKind::kInput && (mentions(symbols, symbol.a, size) || mentions(symbols, symbol.b, size));
}

// A pass may give a call other arguments, and its size another name then: only first dimensions may have either.
Status check_contents(const ShapeQuery& query, const std::vector<TensorType>& results, Dim size) {
  const bool is_first = !results.empty() && !results[0].shape.empty() && results[0].shape[0] == size;
  for (size_t r = 0; r < results.size(); ++r) {
    const auto& shape = results[r].shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      if ((d == 0 && is_first) || !mentions(query.module.symbols, shape[d], size)) continue;
      return Failure{Error::kInvalidArgument, std::string(query.op.functional_name),
                     "its shape rule gives result " + std::to_string(r) + " a size by contents in dimension " +
                         std::to_string(d) + "; it can be the first dimension of the first result, and of others then"};
    }
  }
  return Done{};
}

Expected<std::vector<Type>> infer_own(const ShapeQuery& query) {
  Dim by_contents;
  auto types = query.op.own->infer(OwnCall{query, &by_contents});
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
  if (!by_contents.is_constant()) BERTH_TRY(check_contents(query, *types, by_contents));
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

Expected<Dim> OwnCall::size_by_contents(int64_t most) const {
  if (!query.op.sized_by_contents) {
    return Failure{Error::kInvalidArgument, "", "asks for a size by contents, and does not say that it has one"};
  }
  if (most < 0) {
    return Failure{Error::kInvalidArgument, "", "asks for a size by contents of at most " + std::to_string(most)};
  }
  // Another name for another call, as two calls have two sizes.
  std::string stem(query.op.functional_name);
  for (const Argument& argument : query.args) stem += text_of(query.module, query.method, argument);
  std::string name = stem;
  for (int suffix = 1;; ++suffix) {
    const Symbol* taken = sizes().find(name);
    if (taken == nullptr || (taken->min == 0 && taken->max == most)) break;
    name = stem + "_" + std::to_string(suffix);
  }
  auto size = sizes().input(name, 0, most);
  if (size.ok()) *by_contents = *size;
  return size;
}

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
  op.sized_by_contents = said.sized_by_contents;
  if (said.has_effects && said.sized_by_contents) {
    return wrong("a size by contents is that of all equal calls, and calls with effects differ");
  }
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
