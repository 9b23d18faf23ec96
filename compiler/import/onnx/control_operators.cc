#include "compiler/import/onnx/control_operators.h"

#include "compiler/import/onnx/operators.h"

namespace berth::onnx {

Operand operand_of(ValueId id) {
  Operand operand;
  operand.id = id;
  return operand;
}

Operand operand_of(Known known) {
  Operand operand;
  operand.known = std::move(known);
  return operand;
}

Known scalar_truth(bool value) { return Known{DType::kBool, {}, {Number{Dim(value ? 1 : 0), 0}}}; }
Known scalar_whole(int64_t value) { return Known{DType::kI64, {}, {Number{Dim(value), 0}}}; }

std::optional<Dim> only_number(const std::optional<Known>& known) {
  if (!known.has_value() || known->floating() || known->elements.size() != 1) return std::nullopt;
  return known->elements[0].whole;
}

Operands import_inner_graph(NodeContext& n, const Graph& graph, const Operands& inputs, ir::Graph* into) {
  return n.state().importer->import_within(n, graph, inputs, into);
}

ir::Type type_of(NodeContext& n, ValueId v) { return n.state().method.value(v).type; }

ValueList ids_of(const Operands& operands, size_t first, size_t last) {
  ValueList list;
  for (size_t i = first; i < last && i < operands.size(); ++i) list.push_back(operands[i].id);
  return list;
}

std::vector<ir::Type> types_of(NodeContext& n, const ValueList& values) {
  std::vector<ir::Type> types;
  for (ValueId v : values) types.push_back(type_of(n, v));
  return types;
}

bool same_types(NodeContext& n, const ValueList& expected, const ValueList& found, const char* sentence) {
  for (size_t i = 0; n.ok() && i < expected.size() && i < found.size(); ++i) {
    if (type_of(n, expected[i]) == type_of(n, found[i])) continue;
    n.unsupported(std::string(sentence) + ": " + n.type_text(expected[i]) + " and " + n.type_text(found[i]));
  }
  return n.ok();
}

void give_results(NodeContext& n, const Operands& results) {
  for (size_t i = 0; n.ok() && i < results.size() && i < n.output_count(); ++i) n.output(i, results[i]);
}

void give_results(NodeContext& n, const std::vector<ValueId>& results, size_t first) {
  for (size_t i = first; n.ok() && i < results.size(); ++i) n.output(i - first, results[i]);
}

ValueId one_truth(NodeContext& n, ValueId v) {
  if (n.ok() && n.dtype(v) != DType::kBool) n.invalid("the condition must be a bool, found " + n.type_text(v));
  for (const Dim size : n.shape(v)) {
    if (size != Dim(1)) n.invalid("the condition must be one bool, found " + n.type_text(v));
  }
  return v;
}

namespace {

constexpr OperatorRow kControlRows[] = {
    {"If", 1, 1, import_if},
    {"Loop", 0, kVariadic, import_loop},
    {"Scan", 0, kVariadic, import_scan},
};

}  // namespace

OperatorTable control_operators() { return kControlRows; }

}  // namespace berth::onnx
