// GraphImporter: imports the nodes of a graph, in order, as operators of the IR.
#pragma once

#include "compiler/import/pt2/in_place.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {

/// Checks that every operator of `graph`, of graphs within it too, can be read. NotSupported with their names, nodes
/// and lines otherwise.
Status check_operators(const Graph& graph, const ir::OperatorSet* own);

class GraphImporter {
 public:
  /// Borrows all; operators are appended to `into`, names are looked up and set in `scope`.
  GraphImporter(ImportState& state, const Graph& graph, ir::Graph& into, Scope& scope);

  Status import_nodes();
  /// The current meaning of `argument`, an output of the graph.
  Expected<IrArgument> output(const Argument& argument);
  /// The current meaning of `name`, including changes in place.
  Expected<IrArgument> current(const std::string& name);

 private:
  Status import_one(const Node& node);

  ImportState& state_;
  const Graph& graph_;
  Scope& scope_;
  ir::Builder build_;
  InPlace in_place_;
};

/// Imports a higher-order operator, "cond" of torch.ops.higher_order.cond: its graphs become regions.
void import_higher_order(NodeContext& n, std::string_view name);
/// Whether there is one of that name.
bool has_higher_order(std::string_view name);

}  // namespace berth::pt2
