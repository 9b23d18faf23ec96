// GraphImporter: the nodes of a graph, in order, into the method; calls of model-local functions in place.
#pragma once

#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

class GraphImporter {
 public:
  /// Borrows both.
  GraphImporter(ImportState& state, const Model& model) : state_(state), model_(model) {}

  /// Imports the nodes of `graph` into `scope`, which has its inputs and initialisers, and sets the method's outputs.
  Status import_graph(const Graph& graph, Scope& scope);

 private:
  struct Body;
  Status import_nodes(const Body& body, Scope& scope);
  Status import_node(const Node& node, const Body& body, Scope& scope);
  Status import_call(const Node& node, const Function& function, AttributeList attributes, const std::string& source,
                     Scope& scope);

  /// Gives `value` the name `name` when a node from value number `first` on made it.
  void rename_node_result(ValueId value, size_t first, std::string_view name);

  ImportState& state_;
  const Model& model_;
  std::vector<const Function*> calls_;  // functions whose bodies are being imported
  size_t imported_ = 0;
};

}  // namespace berth::onnx
