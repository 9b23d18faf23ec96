// Loop: its turns one after another where they are few and known, berth::scan where their number is known, else
// berth::while.
//
// A loop whose number of turns depends on the data carries tensors of fixed types and gives their last values; results
// of each turn, stacked, need a number of turns that is known (a size with a range will do).
#include <algorithm>

#include "compiler/import/onnx/loop_turns.h"

namespace berth::onnx {
namespace {

int64_t count_nodes(const Graph& graph) {
  int64_t count = static_cast<int64_t>(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph != nullptr) count += count_nodes(*attribute.graph);
    }
  }
  return count;
}

/// The turns one after another; false where a condition turns out to depend on the data.
bool unroll(NodeContext& n, const Turns& t, Operands values) {
  std::vector<ValueList> stacks(t.stacked);
  for (int64_t turn = 0; turn < t.count->value && n.ok(); ++turn) {
    Operands inputs = {operand_of(scalar_whole(turn)), operand_of(scalar_truth(true))};
    inputs.insert(inputs.end(), values.begin(), values.end());
    const Operands outputs = import_inner_graph(n, *t.body, inputs, nullptr);
    if (!n.ok()) return true;
    values.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<std::ptrdiff_t>(t.carried));
    for (size_t i = 0; i < t.stacked; ++i) stacks[i].push_back(n.tensor_of(outputs[1 + t.carried + i]));
    const std::optional<Dim> more = only_number(outputs[0].known);
    if (!more.has_value() || !more->is_constant()) return false;
    if (more->value == 0) break;
  }
  for (const ValueList& stack : stacks) {
    values.push_back(operand_of(n.op(OpId::stack_out, {stack, Dim(0)})));
  }
  give_results(n, values);
  return true;
}

/// A scan over `length` turns: false where the body's condition depends on the data.
bool scan(NodeContext& n, const Turns& t, Dim length, const ValueList& start) {
  const Dim i64 = lowering::number_of(DType::kI64);
  const ValueId turns = n.op(OpId::arange_start_out, {Dim(0), length, Dim(1), i64});
  if (!n.ok()) return true;
  std::vector<ir::Graph> regions(1);
  ir::TensorType number;
  number.dtype = DType::kI64;
  Operands inputs = {operand_of(n.region_input(number)), operand_of(scalar_truth(true))};
  for (ValueId v : start) inputs.push_back(operand_of(n.region_input(type_of(n, v))));
  for (size_t i = 2; i < inputs.size(); ++i) regions[0].inputs.push_back(inputs[i].id);
  regions[0].inputs.push_back(inputs[0].id);
  ValueList outputs = ids_of(import_inner_graph(n, *t.body, inputs, &regions[0]), 0, SIZE_MAX);
  if (!n.ok()) return true;
  const ir::Constant* more = n.constant_of(outputs[0]);
  const std::optional<Dim> known = more == nullptr ? std::nullopt : only_number(known_of(*more));
  if (!t.decided && (!known.has_value() || known->value == 0)) return false;
  outputs.erase(outputs.begin());
  const ValueList given(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(t.carried));
  if (!same_types(n, start, given, "what goes around must keep its type")) return true;
  regions[0].outputs.assign(outputs.begin(), outputs.end());
  std::vector<ir::Type> types = types_of(n, outputs);
  for (size_t i = t.carried; i < types.size(); ++i) {
    std::vector<Dim>& shape = std::get<ir::TensorType>(types[i]).shape;
    shape.insert(shape.begin(), length);
  }
  give_results(n, n.control(OpId::scan, {length, start, ValueList{turns}}, std::move(regions), std::move(types)), 0);
  return true;
}

/// As long as the turn's number is below `count` (which may be none) and the condition holds.
void loop(NodeContext& n, const Turns& t, const ValueList& start) {
  for (size_t i = t.carried; i < n.output_count(); ++i) {
    if (n.wants_output(i)) {
      return n.unsupported("the number of turns must be known when the model is compiled, and the condition always " +
                           std::string("true, for results of each turn (output ") + std::to_string(i) +
                           "); here how many there are depends on the data");
    }
  }
  if (!n.has_input(0) && !n.has_input(1)) return n.unsupported("a loop without end");
  const ValueId first = n.has_input(1) ? n.view(one_truth(n, n.input(1)), {}) : n.splat(DType::kBool, {}, 1);
  const ValueId count = n.has_input(0) ? n.view(n.cast(n.input(0), DType::kI64), {}) : ValueId();
  ValueList carried = {n.splat(DType::kI64, {}, 0), first};
  carried.insert(carried.end(), start.begin(), start.end());
  if (!n.ok()) return;
  const std::vector<ir::Type> types = types_of(n, carried);
  std::vector<ir::Graph> regions(2);
  for (ir::Graph& region : regions) {
    for (const ir::Type& type : types) region.inputs.push_back(n.region_input(type));
  }
  ValueId holds = regions[0].inputs[1];
  n.inside(regions[0], [&] {
    if (!count.valid()) return;
    const ValueId below = n.op(OpId::lt_Tensor_out, {regions[0].inputs[0], count});
    holds = n.op(OpId::logical_and_out, {below, holds});
  });
  regions[0].outputs = {holds};
  Operands inputs;
  for (ValueId v : regions[1].inputs) inputs.push_back(operand_of(v));
  ValueList outputs = ids_of(import_inner_graph(n, *t.body, inputs, &regions[1]), 0, 1 + t.carried);
  if (!n.ok()) return;
  n.inside(regions[1], [&] {
    outputs[0] = n.view(one_truth(n, outputs[0]), {});
    outputs.insert(outputs.begin(), n.op(OpId::add_Scalar_out, {regions[1].inputs[0], Dim(1)}));
  });
  if (!same_types(n, carried, outputs, "what goes around must keep its type")) return;
  regions[1].outputs.assign(outputs.begin(), outputs.end());
  give_results(n, n.control(OpId::while_, {carried}, std::move(regions), types), 2);
}

}  // namespace

void import_loop(NodeContext& n) {
  Turns t = read_turns(n);
  if (!n.ok()) return;
  if (t.start == std::optional<bool>(false)) t.count = Dim(0);
  if (const std::optional<int64_t> turns = followed_turns(n, t)) {
    t.count = Dim(*turns);
    t.decided = true;
  }
  const bool counted = t.count.has_value() && t.start.has_value();
  const int64_t size = std::max<int64_t>(count_nodes(*t.body), 1);
  if (counted && t.count->is_constant() && t.count->value >= 1 && t.count->value <= kMaxUnrolledTurns / size) {
    Operands values;
    for (size_t i = 0; i < t.carried; ++i) values.push_back(n.input_operand(i + 2));
    if (unroll(n, t, std::move(values))) return;
  }
  ValueList start;
  for (size_t i = 0; i < t.carried; ++i) start.push_back(n.input(i + 2));
  if (!n.ok() || (counted && scan(n, t, *t.count, start))) return;
  loop(n, t, start);
}

}  // namespace berth::onnx
