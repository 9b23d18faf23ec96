// Higher-order operators: cond, while_loop, map and scan become berth::if, berth::while and berth::scan; those that
// only wrap a graph are replaced by it.
#include <algorithm>

#include "compiler/import/pt2/import_graph.h"
#include "compiler/ir/shape_args.h"
#include "compiler/ir/verify_regions.h"

namespace berth::pt2 {
namespace {

using Operands = std::vector<IrArgument>;

const Graph* graph_at(NodeContext& n, size_t i) {
  const std::vector<NamedArgument>& inputs = n.node().inputs;
  if (i < inputs.size() && inputs[i].value.graph != nullptr) return inputs[i].value.graph.get();
  n.invalid("expected a graph as argument " + std::to_string(i));
  return nullptr;
}

/// Arguments from `first` to before `last`, lists as their elements.
Operands operands(NodeContext& n, size_t first, size_t last) {
  Operands all;
  const std::vector<NamedArgument>& inputs = n.node().inputs;
  for (size_t i = first; i < std::min(last, inputs.size()); ++i) {
    const IrArgument value = n.value(inputs[i].value, "operands");
    if (const ValueList* list = std::get_if<ValueList>(&value)) {
      for (const ValueId id : *list) all.push_back(id.valid() ? IrArgument(id) : IrArgument(None()));
    } else if (const DimList* dims = std::get_if<DimList>(&value)) {
      all.insert(all.end(), dims->begin(), dims->end());
    } else {
      all.push_back(value);
    }
  }
  return all;
}

/// The values of a list of tensors: argument `i`.
ValueList tensors_at(NodeContext& n, size_t i) {
  ValueList list;
  for (const IrArgument& one : operands(n, i, i + 1)) {
    const ValueId* id = std::get_if<ValueId>(&one);
    if (id == nullptr || !id->valid()) {
      if (n.ok()) n.unsupported("what goes around must be tensors here");
      return {};
    }
    list.push_back(*id);
  }
  return list;
}

/// Imports `graph` into `into` with its inputs standing for `inputs`; returns what its outputs stand for.
Operands import_into(NodeContext& n, const Graph& graph, ir::Graph& into, const Operands& inputs) {
  if (!n.ok()) return {};
  if (graph.inputs.size() != inputs.size()) {
    n.invalid("the graph within takes " + std::to_string(graph.inputs.size()) + " inputs, found " +
              std::to_string(inputs.size()));
    return {};
  }
  Scope scope;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const std::string& name : graph.inputs[i].names) scope[name] = Operand{inputs[i], {}, {}};
  }
  GraphImporter importer(n.state(), graph, into, scope);
  Status done = importer.import_nodes();
  Operands outputs;
  for (size_t i = 0; i < graph.outputs.size() && done.ok(); ++i) {
    auto output = importer.output(graph.outputs[i]);
    if (!output.ok()) {
      n.fail_with(output.error());
      return {};
    }
    outputs.push_back(std::move(output).value());
  }
  if (!done.ok()) n.fail_with(done.error());
  return outputs;
}

ir::Graph region(NodeContext& n, size_t graph, const Operands& inputs, size_t own_inputs) {
  ir::Graph into;
  for (size_t i = 0; i < own_inputs && i < inputs.size(); ++i) {
    if (const ValueId* id = std::get_if<ValueId>(&inputs[i])) into.inputs.push_back(*id);
  }
  const Graph* from = graph_at(n, graph);
  if (from == nullptr) return into;
  into.outputs = import_into(n, *from, into, inputs);
  return into;
}

std::vector<ir::Type> types_of(NodeContext& n, const std::vector<IrArgument>& values) {
  std::vector<ir::Type> types;
  for (const IrArgument& value : values) {
    if (const ValueId* id = std::get_if<ValueId>(&value)) types.push_back(n.builder().method().value(*id).type);
    if (std::holds_alternative<Dim>(value)) types.emplace_back(ir::ScalarKind::kInt);
    if (std::holds_alternative<double>(value)) types.emplace_back(ir::ScalarKind::kFloat);
    if (std::holds_alternative<bool>(value)) types.emplace_back(ir::ScalarKind::kBool);
  }
  return types;
}

/// A value that stands for an input of a region.
ValueId region_input(NodeContext& n, ir::Type type) {
  return n.builder().method().add_value(std::move(type), n.output_count() > 0 ? n.output_name(0) + ".in" : "in");
}

void append(NodeContext& n, OpId op, std::vector<IrArgument> args, std::vector<ir::Graph> regions,
            std::vector<ir::Type> types) {
  if (!n.ok()) return;
  if (types.size() != n.output_count()) return n.invalid("its graphs do not give what the file says that it gives");
  ir::Method& method = n.builder().method();
  ir::Node node;
  node.op = &ir::operator_of(op);
  if (const Status fit = ir::check_results(n.builder().module(), *node.op, types); !fit.ok()) {
    return n.unsupported(fit.error().message);
  }
  node.args = std::move(args);
  node.regions = std::move(regions);
  node.source = n.source();
  const ir::NodeId id{static_cast<int32_t>(method.nodes.size())};
  for (size_t i = 0; i < types.size(); ++i) {
    const ValueId result = method.add_value(std::move(types[i]), n.output_name(i));
    ir::Value& value = method.value(result);
    value.kind = ir::ValueKind::kNode;
    value.node = id;
    value.result = static_cast<int>(i);
    node.results.push_back(result);
  }
  const std::string problem = ir::region_problem(n.builder().module(), method, node);
  if (!problem.empty()) return n.unsupported(problem);
  const std::vector<ValueId> results = node.results;
  method.nodes.push_back(std::move(node));
  n.builder().graph().nodes.push_back(id);
  n.outputs(results);
}

/// Outputs of regions are tensors: a number that is the same for every input of the region is none.
void expect_tensors(NodeContext& n, const ir::Graph& region) {
  for (const IrArgument& output : region.outputs) {
    const ValueId* id = std::get_if<ValueId>(&output);
    if (id == nullptr || !id->valid() || n.builder().method().value(*id).tensor() == nullptr) {
      n.unsupported("a graph within gives what is not a tensor");
    }
  }
}

// cond(predicate, true graph, false graph, operands)
void import_cond(NodeContext& n) {
  const Operands predicate = operands(n, 0, 1);
  const Operands inputs = operands(n, 3, 4);
  if (!n.ok() || predicate.empty()) return n.invalid("expected a predicate");
  const bool* known = std::get_if<bool>(&predicate[0]);
  if (known != nullptr) {  // only one of them is ever taken
    const Graph* taken = graph_at(n, *known ? 1 : 2);
    if (taken == nullptr) return;
    const Operands outputs = import_into(n, *taken, n.builder().graph(), inputs);
    for (size_t i = 0; i < outputs.size(); ++i) n.output(i, outputs[i]);
    return;
  }
  if (!std::holds_alternative<ValueId>(predicate[0])) return n.unsupported("the predicate must be a tensor");
  std::vector<ir::Graph> regions;
  regions.push_back(region(n, 1, inputs, 0));
  regions.push_back(region(n, 2, inputs, 0));
  for (const ir::Graph& one : regions) expect_tensors(n, one);
  if (!n.ok()) return;
  std::vector<ir::Type> types = types_of(n, regions[0].outputs);
  if (types != types_of(n, regions[1].outputs)) return n.unsupported("both graphs must give the same types");
  append(n, OpId::if_, {predicate[0]}, std::move(regions), std::move(types));
}

// while_loop(condition graph, body graph, carried, additional)
void import_while(NodeContext& n) {
  const ValueList carried = tensors_at(n, 2);
  const Operands more = operands(n, 3, 4);
  std::vector<ir::Graph> regions;
  const std::vector<IrArgument> start(carried.begin(), carried.end());
  std::vector<ir::Type> types = types_of(n, start);
  for (size_t k = 0; k < 2 && n.ok(); ++k) {
    Operands inputs;
    for (const ir::Type& type : types) inputs.emplace_back(region_input(n, type));
    inputs.insert(inputs.end(), more.begin(), more.end());
    regions.push_back(region(n, k, inputs, carried.size()));
    expect_tensors(n, regions.back());
  }
  if (!n.ok()) return;
  if (types_of(n, regions[1].outputs) != types) return n.unsupported("the body must give the types that it takes");
  append(n, OpId::while_, {carried}, std::move(regions), std::move(types));
}

/// map_impl(graph, mapped, additional) and scan(graph, start, scanned, additional).
void import_scan(NodeContext& n, const ValueList& carried, size_t scanned_at) {
  const ValueList scanned = tensors_at(n, scanned_at);
  const Operands more = operands(n, scanned_at + 1, scanned_at + 2);
  if (!n.ok()) return;
  if (scanned.empty() || n.rank(scanned[0]) < 1) return n.unsupported("expected tensors to go through");
  const Dim length = n.dim(scanned[0], 0);
  std::vector<ir::Type> types = types_of(n, std::vector<IrArgument>(carried.begin(), carried.end()));
  const std::vector<ir::Type> carried_types = types;
  Operands inputs;
  for (const ir::Type& type : types) inputs.emplace_back(region_input(n, type));
  for (const ValueId one : scanned) {
    ir::TensorType slice;
    slice.dtype = n.dtype(one);
    slice.shape = n.shape(one);
    if (slice.shape.empty() || slice.shape[0] != length) return n.invalid("the tensors differ in their first size");
    slice.shape.erase(slice.shape.begin());
    inputs.emplace_back(region_input(n, slice));
  }
  inputs.insert(inputs.end(), more.begin(), more.end());
  std::vector<ir::Graph> regions;
  regions.push_back(region(n, 0, inputs, carried.size() + scanned.size()));
  expect_tensors(n, regions[0]);
  if (!n.ok()) return;
  types = types_of(n, regions[0].outputs);
  if (types.size() < carried_types.size() || !std::equal(carried_types.begin(), carried_types.end(), types.begin())) {
    return n.unsupported("the graph must give the types that it carries");
  }
  for (size_t i = carried.size(); i < types.size(); ++i) {
    ir::TensorType& stacked = std::get<ir::TensorType>(types[i]);
    stacked.shape.insert(stacked.shape.begin(), length);
  }
  append(n, OpId::scan, {length, carried, scanned}, std::move(regions), std::move(types));
}

void import_map(NodeContext& n) { import_scan(n, {}, 1); }
void import_torch_scan(NodeContext& n) { import_scan(n, tensors_at(n, 1), 2); }

// wrap_with_set_grad_enabled(flag, graph, operands…), invoke_subgraph(graph, name, operands…)
void import_wrapper(NodeContext& n) {
  const std::vector<NamedArgument>& inputs = n.node().inputs;
  size_t at = 0;
  while (at < inputs.size() && inputs[at].value.graph == nullptr) ++at;
  const Graph* graph = graph_at(n, at);
  if (graph == nullptr) return;
  const bool named = at + 1 < inputs.size() && inputs[at + 1].value.kind == ArgumentKind::kString;
  const Operands outputs =
      import_into(n, *graph, n.builder().graph(), operands(n, at + (named ? 2 : 1), inputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) n.output(i, outputs[i]);
}

/// The type of an enabled region of torch.autocast, which is bf16 where none is given.
DType autocast_type(NodeContext& n) {
  const std::vector<NamedArgument>& inputs = n.node().inputs;
  const bool given = inputs.size() > 1 && inputs[1].value.kind != ArgumentKind::kNone;
  if (!given) return DType::kBF16;
  const IrArgument type =
      inputs[1].value.kind == ArgumentKind::kScalarType ? n.value(inputs[1].value, "dtype") : None();
  const Dim* number = std::get_if<Dim>(&type);
  for (const DType narrow : {DType::kBF16, DType::kF16}) {
    if (number != nullptr && *number == number_of(narrow)) return narrow;
  }
  if (n.ok()) n.unsupported("torch.autocast of another type than torch.bfloat16 or torch.float16");
  return DType::kBF16;
}

// wrap_with_autocast(device, type, enabled, cached, graph, operands…)
void import_autocast(NodeContext& n) {
  const std::vector<NamedArgument>& inputs = n.node().inputs;
  const std::optional<DType> around = std::exchange(n.state().autocast, std::nullopt);
  const auto is = [&](size_t i, ArgumentKind kind) { return i < inputs.size() && inputs[i].value.kind == kind; };
  if (is(2, ArgumentKind::kBool) && inputs[2].value.ints[0] != 0) {
    if (!is(0, ArgumentKind::kString) || inputs[0].value.text != "cpu") {
      return n.unsupported(
          "torch.autocast for another device than \"cpu\"; run_decompositions() writes its casts down");
    }
    n.state().autocast = autocast_type(n);
  }
  import_wrapper(n);
  n.state().autocast = around;
}

constexpr OperatorRow kControlRows[] = {
    {"auto_functionalized", import_functionalized},
    {"auto_functionalized_v2", import_functionalized},
    {"cond", import_cond},
    {"while_loop", import_while},
    {"map_impl", import_map},
    {"scan", import_torch_scan},
    {"wrap_with_set_grad_enabled", import_wrapper},
    {"wrap_with_autocast", import_autocast},
    {"invoke_subgraph", import_wrapper},
};

const OperatorRow* find_row(std::string_view name) {
  for (const OperatorRow& row : kControlRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

bool has_higher_order(std::string_view name) { return find_row(name) != nullptr; }

void import_higher_order(NodeContext& n, std::string_view name) {
  const OperatorRow* row = find_row(name);
  if (row == nullptr) return n.unsupported("Berth does not have this operator");
  row->import(n);
}

}  // namespace berth::pt2
