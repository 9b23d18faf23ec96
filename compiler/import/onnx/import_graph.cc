#include "compiler/import/onnx/import_graph.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/import/onnx/missing.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/own_operators.h"

namespace berth::onnx {
namespace {

// Functions that call each other can multiply: 30 functions of two calls each would be 2^30 nodes.
constexpr size_t kMaxImportedNodes = 1000000;
constexpr size_t kMaxCallDepth = 64;
// Loops that are unrolled within each other multiply likewise.
constexpr size_t kMaxMentioned = size_t{1} << 23;
// Functions may call what holds graphs that call functions.
constexpr int kMaxGraphDepth = 32;

// What graphs within the nodes mention counts too, whether or not they have another value of that name. Returns how
// much there was to look at.
size_t count_uses(const std::vector<Node>& nodes, Scope& scope) {
  size_t count = nodes.size();
  for (const Node& node : nodes) {
    count += node.inputs.size();
    for (std::string_view name : node.inputs) ++scope.uses[name];
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph == nullptr) continue;
      count += count_uses(attribute.graph->nodes, scope) + attribute.graph->outputs.size();
      for (const ValueInfo& output : attribute.graph->outputs) ++scope.uses[output.name];
    }
  }
  return count;
}

Failure node_failure(Error code, const std::string& source, std::string message) {
  return Failure{code, "onnx node \"" + source + "\"", std::move(message)};
}

const Attribute* find_attribute(const AttributeList& attributes, std::string_view name) {
  for (const auto& [key, attribute] : attributes) {
    if (key == name) return attribute;
  }
  return nullptr;
}

void run(const OperatorRow& row, NodeContext& n) {
  const std::string found = std::to_string(n.input_count());
  if (n.input_count() > row.max_inputs) {
    return n.invalid("takes at most " + std::to_string(row.max_inputs) + " inputs, found " + found);
  }
  for (size_t i = 0; i < row.min_inputs; ++i) {
    if (!n.has_input(i)) {
      return n.invalid("needs at least " + std::to_string(row.min_inputs) + " inputs; input " + std::to_string(i) +
                       " is missing");
    }
  }
  const bool known = is_standard(n.node().domain) && evaluate_known(n);
  if (!known && n.ok()) row.import(n);
}

}  // namespace

Status GraphImporter::import_graph(const Graph& graph, Scope& scope) {
  count_uses(graph.nodes, scope);
  for (const ValueInfo& output : graph.outputs) ++scope.uses[output.name];
  BERTH_TRY(import_nodes(Body{graph.nodes, opset_of(model_.opsets), nullptr, ""}, scope));
  // The outputs are read as a node's inputs would be: constants and known sizes become tensors here.
  Node reader;
  reader.op_type = "graph outputs";
  for (const ValueInfo& output : graph.outputs) reader.inputs.push_back(output.name);
  NodeContext n(*state_, scope, reader, {}, 0, "outputs of the graph");
  std::unordered_set<int32_t> named;
  const auto give = [&](ValueId value, const std::string& name) {
    // What only passed through (Identity, a function's result) takes the output's name in listings too; of several
    // outputs that are one value, the first one's.
    if (named.insert(value.index).second) rename_node_result(value, ValueId{0}, name);
    state_->method.body.outputs.emplace_back(value);
    state_->method.output_names.emplace_back(name);
  };
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Operand operand = n.input_operand(i);
    const std::string name(graph.outputs[i].name);
    if (operand.is_nothing) continue;
    if (operand.sequence == nullptr) {
      const ValueId value = n.input(i);
      if (n.ok()) give(value, name);
    } else {
      // A sequence gives its elements.
      for (size_t k = 0; k < operand.sequence->size() && n.ok(); ++k) {
        const Operand& element = (*operand.sequence)[k];
        const std::string element_name = name + "[" + std::to_string(k) + "]";
        give(element.id.valid() ? element.id : n.materialize(*element.known, element_name), element_name);
      }
    }
    if (!n.ok()) return n.failure();
  }
  return Done{};
}

void GraphImporter::rename_node_result(ValueId value, ValueId first, std::string_view name) {
  if (!value.valid() || value < first) return;
  if (state_->method.value(value).kind == ir::ValueKind::kNode) state_->method.rename(value, name);
}

Status GraphImporter::import_nodes(const Body& body, Scope& scope) {
  for (const Node& node : body.nodes) BERTH_TRY(import_node(node, body, scope));
  return Done{};
}

Status GraphImporter::import_node(const Node& node, const Body& body, Scope& scope) {
  const std::string source = node_source(node, body.caller);
  if (++imported_ > kMaxImportedNodes) {
    return node_failure(Error::kOutOfResources, source,
                        "with its functions the model has more than " + std::to_string(kMaxImportedNodes) + " nodes");
  }
  for (std::string_view output : node.outputs) {
    if (!output.empty() && scope.operands.count(output) != 0) {
      return node_failure(Error::kInvalidProgram, source,
                          "its output \"" + std::string(output) + "\" is defined already");
    }
  }
  AttributeList attributes;
  for (const Attribute& attribute : node.attributes) {
    const Attribute* meant = &attribute;
    if (!attribute.reference.empty()) {
      meant = body.call == nullptr ? nullptr : find_attribute(*body.call, attribute.reference);
    }
    if (meant != nullptr) attributes.emplace_back(attribute.name, meant);
  }
  const ir::Operator* own = find_own(state_->module.operators.get(), node);
  const Function* function = own == nullptr ? find_function(model_, node) : nullptr;
  if (function != nullptr) return import_call(node, *function, std::move(attributes), source, scope);
  const OperatorRow* row = own == nullptr ? find_row(node.domain, node.op_type) : nullptr;
  BERTH_CHECK(own != nullptr || row != nullptr);  // check_operators has seen every node
  NodeContext n(*state_, scope, node, std::move(attributes), body.opset, source);
  const Body* body_around = std::exchange(body_, &body);
  Scope* scope_around = std::exchange(scope_, &scope);
  if (own != nullptr) {
    import_own(n, *own);
  } else {
    run(*row, n);
  }
  body_ = body_around;
  scope_ = scope_around;
  if (!n.ok()) return n.failure();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!n.wants_output(i) || scope.operands.count(node.outputs[i]) != 0) continue;
    return node_failure(Error::kNotSupported, source,
                        std::string(node.op_type) + ": output " + std::to_string(i) + " (\"" +
                            std::string(node.outputs[i]) + "\") is not computed by Berth");
  }
  return Done{};
}

std::vector<Operand> GraphImporter::import_within(NodeContext& n, const Graph& graph,
                                                  const std::vector<Operand>& inputs, ir::Graph* into,
                                                  std::optional<Failure>* failure) {
  if (!n.ok()) return {};
  if (graph.inputs.size() != inputs.size()) {
    n.invalid("its graph \"" + std::string(graph.name) + "\" takes " + std::to_string(graph.inputs.size()) +
              " inputs, expected " + std::to_string(inputs.size()));
    return {};
  }
  if (graph_depth_ == kMaxGraphDepth) {
    n.unsupported("graphs lie more than " + std::to_string(kMaxGraphDepth) + " deep within each other");
    return {};
  }
  ImportState inner{state_->module, state_->method,
                    ir::Builder(state_->module, state_->method, into == nullptr ? state_->build.graph() : *into),
                    state_->literals, this};
  ImportState* around = std::exchange(state_, &inner);
  ++graph_depth_;
  auto outputs = import_inner(graph, inputs, n.source(), into != nullptr);
  --graph_depth_;
  state_ = around;
  if (!outputs.ok()) {
    if (failure != nullptr) {
      *failure = outputs.error();
    } else {
      n.fail(outputs.error());
    }
    return {};
  }
  return std::move(*outputs);
}

Expected<std::vector<Operand>> GraphImporter::import_inner(const Graph& graph, const std::vector<Operand>& inputs,
                                                           const std::string& caller, bool as_tensors) {
  Scope scope;
  scope.around = scope_;
  mentioned_ += count_uses(graph.nodes, scope) + graph.initializers.size() + graph.sparse_initializers.size() +
                graph.inputs.size() + graph.outputs.size();
  if (mentioned_ > kMaxMentioned) {
    return node_failure(Error::kOutOfResources, caller,
                        "with its loops the model mentions more than " + std::to_string(kMaxMentioned) + " names");
  }
  for (const ValueInfo& output : graph.outputs) ++scope.uses[output.name];
  for (const Tensor& t : graph.initializers) scope.operands[t.name].initializer = &t;
  for (const SparseTensor& t : graph.sparse_initializers) scope.operands[t.values.name].sparse_initializer = &t;
  for (size_t i = 0; i < inputs.size(); ++i) scope.operands[graph.inputs[i].name] = inputs[i];
  BERTH_TRY(import_nodes(Body{graph.nodes, body_->opset, body_->call, caller}, scope));
  Node reader;
  reader.op_type = "graph outputs";
  for (const ValueInfo& output : graph.outputs) reader.inputs.push_back(output.name);
  NodeContext n(*state_, scope, reader, {}, 0, "outputs of the graph in " + caller);
  std::vector<Operand> outputs;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (as_tensors) {
      outputs.emplace_back();
      outputs.back().id = n.input(i);
    } else {
      outputs.push_back(n.input_operand(i));
    }
  }
  if (!n.ok()) return n.failure();
  return outputs;
}

Status GraphImporter::import_call(const Node& node, const Function& function, AttributeList attributes,
                                  const std::string& source, Scope& scope) {
  if (std::find(calls_.begin(), calls_.end(), &function) != calls_.end() || calls_.size() >= kMaxCallDepth) {
    return node_failure(Error::kInvalidProgram, source,
                        "function " + std::string(function.name) + " calls itself, or calls nest too deeply");
  }
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return node_failure(Error::kInvalidProgram, source,
                        "function " + std::string(function.name) + " has " + std::to_string(function.inputs.size()) +
                            " inputs and " + std::to_string(function.outputs.size()) + " outputs; the call gives more");
  }
  for (const Attribute& fallback : function.attribute_defaults) {
    if (find_attribute(attributes, fallback.name) == nullptr) attributes.emplace_back(fallback.name, &fallback);
  }

  Scope inner;
  count_uses(function.nodes, inner);
  for (std::string_view output : function.outputs) ++inner.uses[output];
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    const Operand* argument = scope.find(node.inputs[i]);
    if (argument == nullptr) {
      return node_failure(Error::kInvalidArgument, source,
                          "input \"" + std::string(node.inputs[i]) + "\" is not defined before this node");
    }
    inner.operands[function.inputs[i]] = *argument;
  }

  for (std::string_view input : function.inputs) {
    if (inner.operands.count(input) == 0) inner.absent.insert(input);
  }

  calls_.push_back(&function);
  const ValueId first_new_value = state_->method.values.next_id();
  const int64_t opset = opset_of(function.opsets) != 0 ? opset_of(function.opsets) : opset_of(model_.opsets);
  const Status status = import_nodes(Body{function.nodes, opset, &attributes, source}, inner);
  calls_.pop_back();
  if (!status.ok()) return status.error();

  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const Operand* result = inner.find(function.outputs[i]);
    if (result == nullptr) {
      return node_failure(Error::kInvalidProgram, source,
                          "function " + std::string(function.name) + " does not define its output \"" +
                              std::string(function.outputs[i]) + "\"");
    }
    rename_node_result(result->id, first_new_value, node.outputs[i]);
    scope.operands[node.outputs[i]] = *result;
  }
  return Done{};
}

}  // namespace berth::onnx
