// GraphImporter: imports the nodes of a graph into the method, in order; inlines model-local functions.
#pragma once

#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

/// Nodes that share a version and, in functions, a call.
struct Body {
  const std::vector<Node>& nodes;
  int64_t opset;
  const AttributeList* call;  // attributes that references stand for; null in the main graph
  std::string caller;
};

class GraphImporter {
 public:
  /// Borrows both.
  GraphImporter(ImportState& state, const Model& model) : state_(&state), model_(model) { state.importer = this; }

  /// Imports the nodes of `graph` into `scope`, which has its inputs and initialisers, and sets the method's outputs.
  Status import_graph(const Graph& graph, Scope& scope);

  /// Imports `graph`, an attribute of node `n` of `around` in `scope`, with `inputs` for its inputs, at the end of
  /// `into`, or if that is null, of the graph of node `n`. Returns the operands of its outputs, as tensors of `into` if
  /// that is not null. Empty after a failure, which is set in `n`, or if `failure` is not null, there.
  std::vector<Operand> import_within(NodeContext& n, const Graph& graph, const std::vector<Operand>& inputs,
                                     ir::Graph* into, std::optional<Failure>* failure = nullptr);

 private:
  Status import_nodes(const Body& body, Scope& scope);
  Status import_node(const Node& node, const Body& body, Scope& scope);
  Status import_call(const Node& node, const Function& function, AttributeList attributes, const std::string& source,
                     Scope& scope);

  /// Names `value` `name` if it was computed by a node with value number `first` or later.
  void rename_node_result(ValueId value, ValueId first, std::string_view name);

  Expected<std::vector<Operand>> import_inner(const Graph& graph, const std::vector<Operand>& inputs,
                                              const std::string& caller, bool as_tensors);

  ImportState* state_;
  const Body* body_ = nullptr;  // the node that is being imported stands there
  Scope* scope_ = nullptr;
  const Model& model_;
  std::vector<const Function*> calls_;  // functions whose bodies are being imported
  size_t imported_ = 0;
  size_t mentioned_ = 0;  // names in graphs within nodes, each time that they are imported
  int graph_depth_ = 0;
};

}  // namespace berth::onnx
