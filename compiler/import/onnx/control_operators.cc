// If, Loop and Scan: what is decided while importing becomes plain nodes; the rest berth::if, berth::while and
// berth::scan.
//
// A loop whose number of turns depends on the data carries tensors of fixed types and gives their last values; results
// of each turn, stacked, need a number of turns that is known (a size with a range will do).
#include <algorithm>
#include <unordered_set>

#include "compiler/import/onnx/import_graph.h"
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

using Operands = std::vector<Operand>;

// Short loops become their turns one after another: turns × nodes.
constexpr int64_t kMaxUnrolled = 256;

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

Known truth(bool value) { return Known{DType::kBool, {}, {Number{Dim(value ? 1 : 0), 0}}}; }
Known whole(int64_t value) { return Known{DType::kI64, {}, {Number{Dim(value), 0}}}; }

/// The only element, where it is known to be a number.
std::optional<Dim> constant_of(const std::optional<Known>& known) {
  if (!known.has_value() || known->floating() || known->elements.size() != 1) return std::nullopt;
  return known->elements[0].whole;
}

Operands within(NodeContext& n, const Graph& graph, const Operands& inputs, ir::Graph* into) {
  return n.state().importer->import_within(n, graph, inputs, into);
}

ir::Type type_of(NodeContext& n, ValueId v) { return n.state().method.value(v).type; }

ValueList ids(const Operands& operands, size_t first, size_t last) {
  ValueList list;
  for (size_t i = first; i < last && i < operands.size(); ++i) list.push_back(operands[i].id);
  return list;
}

std::vector<ir::Type> types_of(NodeContext& n, const ValueList& values) {
  std::vector<ir::Type> types;
  for (ValueId v : values) types.push_back(type_of(n, v));
  return types;
}

/// Whether both lists agree; else a failure that names the first pair that does not.
bool same_types(NodeContext& n, const ValueList& expected, const ValueList& found, const char* sentence) {
  for (size_t i = 0; n.ok() && i < expected.size() && i < found.size(); ++i) {
    if (type_of(n, expected[i]) == type_of(n, found[i])) continue;
    n.unsupported(std::string(sentence) + ": " + n.type_text(expected[i]) + " and " + n.type_text(found[i]));
  }
  return n.ok();
}

void give(NodeContext& n, const Operands& results) {
  for (size_t i = 0; n.ok() && i < results.size() && i < n.output_count(); ++i) n.output(i, results[i]);
}

void give(NodeContext& n, const std::vector<ValueId>& results, size_t first) {
  for (size_t i = first; n.ok() && i < results.size(); ++i) n.output(i - first, results[i]);
}

// One bool, as berth::if and berth::while take it.
ValueId one_truth(NodeContext& n, ValueId v) {
  if (n.ok() && n.dtype(v) != DType::kBool) n.invalid("the condition must be a bool, found " + n.type_text(v));
  for (const Dim size : n.shape(v)) {
    if (size != Dim(1)) n.invalid("the condition must be one bool, found " + n.type_text(v));
  }
  return v;
}

/// A branch of an If that the data decides, imported into a region.
struct Branch {
  ir::Graph region;
  ValueList results;
  std::optional<Failure> failure;
};

Branch import_branch(NodeContext& n, const Graph& graph) {
  Branch b;
  b.results = ids(n.state().importer->import_within(n, graph, {}, &b.region, &b.failure), 0, n.output_count());
  b.region.outputs.assign(b.results.begin(), b.results.end());
  return b;
}

// A branch that does not fit the sizes which the model is compiled for is one that no right call takes: a detector of
// voices has a branch for each sampling rate, and each takes another number of samples. It becomes one that says so.
bool may_refuse(const Branch& b) { return b.failure.has_value() && b.failure->code == Error::kInvalidArgument; }

void refuse_instead(NodeContext& n, Branch& b, const ValueList& like) {
  b.region = ir::Graph();
  b.results.clear();
  const std::string why = b.failure->place + ": " + b.failure->message;
  n.inside(b.region, [&] {
    for (const ValueId v : like) {
      b.results.push_back(n.op(OpId::refuse_out, {DimList(n.shape(v)), why, lowering::number_of(n.dtype(v))}));
    }
  });
  b.region.outputs.assign(b.results.begin(), b.results.end());
}

void import_if(NodeContext& n) {
  const Graph* branches[] = {n.graph("then_branch"), n.graph("else_branch")};
  const std::optional<Dim> known = constant_of(n.known(0));
  if (!n.ok()) return;
  for (const Graph* branch : branches) {
    if (branch->outputs.size() < n.output_count()) return n.invalid("a branch gives fewer results than the node has");
  }
  if (known.has_value() && known->is_constant()) {  // only one of them is ever taken
    return give(n, within(n, *branches[known->value != 0 ? 0 : 1], {}, nullptr));
  }
  const ValueId condition = one_truth(n, n.input(0));
  if (!n.ok()) return;
  Branch yes = import_branch(n, *branches[0]);
  Branch no = import_branch(n, *branches[1]);
  if (may_refuse(yes) && !no.failure.has_value()) {
    refuse_instead(n, yes, no.results);
  } else if (may_refuse(no) && !yes.failure.has_value()) {
    refuse_instead(n, no, yes.results);
  } else if (yes.failure.has_value() || no.failure.has_value()) {
    return n.fail(yes.failure.has_value() ? *yes.failure : *no.failure);
  }
  if (!n.ok() || !same_types(n, yes.results, no.results, "both branches must give the same types")) return;
  std::vector<ir::Type> types = types_of(n, yes.results);
  std::vector<ir::Graph> regions;
  regions.push_back(std::move(yes.region));
  regions.push_back(std::move(no.region));
  give(n, n.control(OpId::if_, {condition}, std::move(regions), std::move(types)), 0);
}

int64_t count_nodes(const Graph& graph) {
  int64_t count = static_cast<int64_t>(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph != nullptr) count += count_nodes(*attribute.graph);
    }
  }
  return count;
}

/// A Loop node: M and the first condition, what goes around, what is stacked.
struct Turns {
  const Graph* body = nullptr;
  size_t carried = 0;
  size_t stacked = 0;
  std::optional<Dim> count;   // where it is known
  std::optional<bool> start;  // the first condition, where it is known
  bool decided = false;       // the condition holds in every turn that `count` has, whatever the body says
};

Turns read_loop(NodeContext& n) {
  Turns t;
  t.body = n.graph("body");
  if (!n.ok()) return t;
  if (n.input_count() < 2) return n.invalid("needs a number of turns and a condition, or \"\" for either"), t;
  t.carried = n.input_count() - 2;
  if (t.body->outputs.size() < t.carried + 1) return n.invalid("its body gives less than goes around"), t;
  t.stacked = t.body->outputs.size() - t.carried - 1;
  if (n.output_count() > t.carried + t.stacked) return n.invalid("its body gives less than the node has results"), t;
  if (n.has_input(0)) {
    t.count = constant_of(n.known(0));
    if (t.count.has_value() && t.count->is_constant()) t.count = Dim(std::max<int64_t>(t.count->value, 0));
  }
  t.start = true;
  if (n.has_input(1)) {
    const std::optional<Dim> known = constant_of(n.known(1));
    t.start = known.has_value() && known->is_constant() ? std::optional<bool>(known->value != 0) : std::nullopt;
  }
  return t;
}

ValueId tensor_of(NodeContext& n, const Operand& operand) {
  if (operand.id.valid() || !operand.known.has_value()) return operand.id;
  return n.materialize(*operand.known, n.source());
}

/// The turns one after another; false where a condition turns out to depend on the data.
bool unroll(NodeContext& n, const Turns& t, Operands values) {
  std::vector<ValueList> stacks(t.stacked);
  for (int64_t turn = 0; turn < t.count->value && n.ok(); ++turn) {
    Operands inputs = {operand_of(whole(turn)), operand_of(truth(true))};
    inputs.insert(inputs.end(), values.begin(), values.end());
    const Operands outputs = within(n, *t.body, inputs, nullptr);
    if (!n.ok()) return true;
    values.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<std::ptrdiff_t>(t.carried));
    for (size_t i = 0; i < t.stacked; ++i) stacks[i].push_back(tensor_of(n, outputs[1 + t.carried + i]));
    const std::optional<Dim> more = constant_of(outputs[0].known);
    if (!more.has_value() || !more->is_constant()) return false;
    if (more->value == 0) break;
  }
  for (const ValueList& stack : stacks) {
    values.push_back(operand_of(n.op(OpId::stack_out, {stack, Dim(0)})));
  }
  give(n, values);
  return true;
}

/// What of a body its condition needs: the nodes, and which of what goes around.
struct ConditionPart {
  Graph graph;
  std::vector<bool> needs;
};

/// Nothing where the condition needs a graph within the body.
std::optional<ConditionPart> condition_part(const Turns& t) {
  const Graph& body = *t.body;
  std::unordered_set<std::string_view> wanted = {body.outputs[0].name};
  ConditionPart part;
  part.needs.assign(t.carried, false);
  std::vector<bool> taken(body.nodes.size(), false);
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = body.nodes.size(); i-- > 0;) {
      const Node& node = body.nodes[i];
      const auto is_wanted = [&](std::string_view name) { return wanted.count(name) != 0; };
      if (taken[i] || !std::any_of(node.outputs.begin(), node.outputs.end(), is_wanted)) continue;
      for (const Attribute& attribute : node.attributes) {
        if (attribute.graph != nullptr) return std::nullopt;
      }
      taken[i] = grown = true;
      wanted.insert(node.inputs.begin(), node.inputs.end());
    }
    for (size_t k = 0; k < t.carried && k + 2 < body.inputs.size(); ++k) {
      if (part.needs[k] || wanted.count(body.inputs[k + 2].name) == 0) continue;
      part.needs[k] = grown = true;
      wanted.insert(body.outputs[k + 1].name);
    }
  }
  part.graph = body;
  part.graph.nodes.clear();
  for (size_t i = 0; i < body.nodes.size(); ++i) {
    if (taken[i]) part.graph.nodes.push_back(body.nodes[i]);
  }
  part.graph.outputs.resize(1);
  for (size_t k = 0; k < t.carried; ++k) {
    if (part.needs[k]) part.graph.outputs.push_back(body.outputs[k + 1]);
  }
  return part;
}

// More turns than this are not followed.
constexpr int64_t kMaxFollowed = 1 << 14;

/// How often the loop turns, where its condition follows from a count that goes around and is known, as keras's recurrent
/// layers have it.
std::optional<int64_t> followed(NodeContext& n, const Turns& t) {
  const bool bounded = t.count.has_value() && t.count->is_constant();
  if (t.start != std::optional<bool>(true) || (t.count.has_value() && !bounded)) return std::nullopt;
  if (n.has_input(0) && !bounded) return std::nullopt;
  const std::optional<ConditionPart> part = condition_part(t);
  if (!part.has_value() || std::none_of(part->needs.begin(), part->needs.end(), [](bool b) { return b; })) {
    return std::nullopt;
  }
  const auto is_number = [](const Operand& o) { return o.known.has_value() && o.known->is_constant(); };
  Operands carried(t.carried);
  for (size_t k = 0; k < t.carried; ++k) {
    if (!part->needs[k]) continue;
    carried[k].known = n.known(k + 2);
    if (!is_number(carried[k])) return std::nullopt;
  }
  // Tried once aside, so that a condition that turns out to need the data leaves nothing in the graph.
  ir::Graph aside;
  Operands first = {operand_of(whole(0)), operand_of(truth(true))};
  first.insert(first.end(), carried.begin(), carried.end());
  std::optional<Failure> misfit;
  const Operands tried = n.state().importer->import_within(n, part->graph, first, &aside, &misfit);
  const auto is_constant = [&](const Operand& o) { return n.constant_of(o.id) != nullptr; };
  if (misfit.has_value() || !std::all_of(tried.begin(), tried.end(), is_constant)) return std::nullopt;
  const int64_t most = bounded ? std::min(t.count->value, kMaxFollowed) : kMaxFollowed;
  for (int64_t turn = 0; turn < most && n.ok(); ++turn) {
    Operands inputs = {operand_of(whole(turn)), operand_of(truth(true))};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    std::optional<Failure> failure;
    const Operands outputs = n.state().importer->import_within(n, part->graph, inputs, nullptr, &failure);
    if (failure.has_value() || outputs.empty() || !std::all_of(outputs.begin(), outputs.end(), is_number)) {
      return std::nullopt;
    }
    if (constant_of(outputs[0].known) == std::optional<Dim>(Dim(0))) return turn + 1;
    size_t next = 1;
    for (size_t k = 0; k < t.carried; ++k) {
      if (part->needs[k]) carried[k] = outputs[next++];
    }
  }
  return bounded && t.count->value <= kMaxFollowed ? t.count->value : std::optional<int64_t>();
}

/// A scan over `length` turns: false where the body's condition depends on the data.
bool scan(NodeContext& n, const Turns& t, Dim length, const ValueList& start) {
  const Dim i64 = lowering::number_of(DType::kI64);
  const ValueId turns = n.op(OpId::arange_start_out, {Dim(0), length, Dim(1), i64});
  if (!n.ok()) return true;
  std::vector<ir::Graph> regions(1);
  ir::TensorType number;
  number.dtype = DType::kI64;
  Operands inputs = {operand_of(n.region_input(number)), operand_of(truth(true))};
  for (ValueId v : start) inputs.push_back(operand_of(n.region_input(type_of(n, v))));
  for (size_t i = 2; i < inputs.size(); ++i) regions[0].inputs.push_back(inputs[i].id);
  regions[0].inputs.push_back(inputs[0].id);
  ValueList outputs = ids(within(n, *t.body, inputs, &regions[0]), 0, SIZE_MAX);
  if (!n.ok()) return true;
  const ir::Constant* more = n.constant_of(outputs[0]);
  const std::optional<Dim> known = more == nullptr ? std::nullopt : constant_of(known_of(*more));
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
  give(n, n.control(OpId::scan, {length, start, ValueList{turns}}, std::move(regions), std::move(types)), 0);
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
  ValueList outputs = ids(within(n, *t.body, inputs, &regions[1]), 0, 1 + t.carried);
  if (!n.ok()) return;
  n.inside(regions[1], [&] {
    outputs[0] = n.view(one_truth(n, outputs[0]), {});
    outputs.insert(outputs.begin(), n.op(OpId::add_Scalar_out, {regions[1].inputs[0], Dim(1)}));
  });
  if (!same_types(n, carried, outputs, "what goes around must keep its type")) return;
  regions[1].outputs.assign(outputs.begin(), outputs.end());
  give(n, n.control(OpId::while_, {carried}, std::move(regions), types), 2);
}

void import_loop(NodeContext& n) {
  Turns t = read_loop(n);
  if (!n.ok()) return;
  if (t.start == std::optional<bool>(false)) t.count = Dim(0);
  if (const std::optional<int64_t> turns = followed(n, t)) {
    t.count = Dim(*turns);
    t.decided = true;
  }
  const bool counted = t.count.has_value() && t.start.has_value();
  const int64_t size = std::max<int64_t>(count_nodes(*t.body), 1);
  if (counted && t.count->is_constant() && t.count->value >= 1 && t.count->value <= kMaxUnrolled / size) {
    Operands values;
    for (size_t i = 0; i < t.carried; ++i) values.push_back(n.input_operand(i + 2));
    if (unroll(n, t, std::move(values))) return;
  }
  ValueList start;
  for (size_t i = 0; i < t.carried; ++i) start.push_back(n.input(i + 2));
  if (!n.ok() || (counted && scan(n, t, *t.count, start))) return;
  loop(n, t, start);
}

/// Attribute `name` of Scan: a number for each of `count` tensors, 0 without it.
std::vector<int64_t> for_each(NodeContext& n, const char* name, size_t count) {
  std::vector<int64_t> numbers = n.integers(name, std::vector<int64_t>(count, 0));
  if (numbers.size() != count) {
    n.invalid("attribute '" + std::string(name) + "' has " + std::to_string(numbers.size()) + " numbers, expected " +
              std::to_string(count));
    numbers.assign(count, 0);
  }
  return numbers;
}

/// `x` with dimension `from` moved to `to`.
ValueId moved(NodeContext& n, ValueId x, int from, int to) {
  std::vector<int64_t> order;
  for (int i = 0; i < n.rank(x); ++i) {
    if (i != from) order.push_back(i);
  }
  if (!order.empty()) order.insert(order.begin() + to, from);
  return n.permute(x, order);
}

ValueId flipped(NodeContext& n, ValueId x, int axis) { return n.op(OpId::flip_out, {x, DimList{Dim(axis)}}); }

/// A Scan over `inputs`, what is carried before what is scanned; its results. Empty after a failure.
std::vector<ValueId> scan_over(NodeContext& n, const ValueList& inputs) {
  const Graph* body = n.graph("body");
  const int64_t count = n.integer("num_scan_inputs", 0);
  if (n.ok() && (count < 1 || static_cast<size_t>(count) > inputs.size())) {
    n.invalid("attribute 'num_scan_inputs' must be from 1 to the number of inputs");
  }
  if (!n.ok()) return {};
  const size_t scans = count;
  const size_t carried = inputs.size() - scans;
  if (body->outputs.size() < carried) return n.invalid("its body gives less than goes around"), ValueList();
  const size_t stacked = body->outputs.size() - carried;
  if (n.output_count() > carried + stacked) {
    return n.invalid("its body gives less than the node has results"), ValueList();
  }
  const std::vector<int64_t> axes = for_each(n, "scan_input_axes", scans);
  const std::vector<int64_t> directions = for_each(n, n.opset() < 9 ? "directions" : "scan_input_directions", scans);
  const std::vector<int64_t> out_axes = for_each(n, "scan_output_axes", stacked);
  const std::vector<int64_t> out_directions = for_each(n, "scan_output_directions", stacked);
  ValueList start;
  ValueList scanned;
  for (size_t i = 0; i < carried; ++i) start.push_back(inputs[i]);
  for (size_t i = 0; i < scans; ++i) {
    const ValueId x = inputs[carried + i];
    const ValueId front = moved(n, x, n.axis(axes[i], n.rank(x)), 0);
    scanned.push_back(directions[i] != 0 ? flipped(n, front, 0) : front);
  }
  if (!n.ok()) return {};
  const Dim length = n.dim(scanned[0], 0);
  std::vector<ir::Graph> regions(1);
  Operands arguments;
  for (ValueId v : start) arguments.push_back(operand_of(n.region_input(type_of(n, v))));
  for (ValueId v : scanned) {
    ir::TensorType slice;
    slice.dtype = n.dtype(v);
    slice.shape = n.shape(v);
    if (slice.shape.empty() || slice.shape[0] != length)
      return n.invalid("what is scanned differs in length"), ValueList();
    slice.shape.erase(slice.shape.begin());
    arguments.push_back(operand_of(n.region_input(std::move(slice))));
  }
  regions[0].inputs = ids(arguments, 0, SIZE_MAX);
  const ValueList outputs = ids(within(n, *body, arguments, &regions[0]), 0, SIZE_MAX);
  if (!same_types(n, start, outputs, "what goes around must keep its type")) return {};
  regions[0].outputs.assign(outputs.begin(), outputs.end());
  std::vector<ir::Type> types = types_of(n, outputs);
  for (size_t i = carried; i < types.size(); ++i) {
    std::vector<Dim>& shape = std::get<ir::TensorType>(types[i]).shape;
    shape.insert(shape.begin(), length);
  }
  std::vector<ValueId> results = n.control(OpId::scan, {length, start, scanned}, std::move(regions), std::move(types));
  for (size_t i = carried; n.ok() && i < results.size(); ++i) {
    if (out_directions[i - carried] != 0) results[i] = flipped(n, results[i], 0);
    results[i] = moved(n, results[i], 0, n.axis(out_axes[i - carried], n.rank(results[i])));
  }
  return results;
}

// Opset 8 has a batch in front of everything, and the length of each of its sequences as first input: each is scanned
// for itself.
void scan_of_batch(NodeContext& n) {
  if (n.has_input(0)) return n.unsupported("lengths of sequences (input 0); export with opset 9 or newer");
  ValueList whole;
  for (size_t i = 1; i < n.input_count(); ++i) whole.push_back(n.input(i));
  const int64_t batch = n.fixed(n.dim(whole.empty() ? ValueId() : whole[0], 0), "the batch");
  if (n.ok() && (batch < 1 || batch > kMaxUnrolled)) return n.unsupported("a batch of none, or of more than 256");
  std::vector<ValueList> results;
  for (int64_t b = 0; b < batch && n.ok(); ++b) {
    ValueList one;
    for (ValueId v : whole) one.push_back(n.op(OpId::select_copy_int_out, {v, Dim(0), Dim(b)}));
    const std::vector<ValueId> outputs = scan_over(n, one);
    results.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) results[i].push_back(outputs[i]);
  }
  for (size_t i = 0; i < results.size() && n.ok(); ++i) n.output(i, n.op(OpId::stack_out, {results[i], Dim(0)}));
}

void import_scan(NodeContext& n) {
  if (n.opset() < 9) return scan_of_batch(n);
  ValueList inputs;
  for (size_t i = 0; i < n.input_count(); ++i) inputs.push_back(n.input(i));
  give(n, scan_over(n, inputs), 0);
}

constexpr OperatorRow kControlRows[] = {
    {"If", 1, 1, import_if},
    {"Loop", 0, kVariadic, import_loop},
    {"Scan", 0, kVariadic, import_scan},
};

}  // namespace

OperatorTable control_operators() { return kControlRows; }

}  // namespace berth::onnx
