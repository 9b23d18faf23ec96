// What the passes of this room ask of a graph whose nodes hold regions.
#pragma once

#include "compiler/ir/module.h"

namespace berth::placement {

// The words of ir, which every file of this room speaks.
using ir::Argument;
using ir::Graph;
using ir::Method;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

inline bool is_delegate(const Node& node) { return node.is(OpId::delegate); }

inline bool is_copy(const Node& node) { return node.op->is_device_copy(); }

/// Calls `visit(graph, &place)` for each call of a delegate, graph.nodes[place], in the graph and in the branches and
/// loops in it, until a visit fails. A visit may insert nodes into `graph` before the call, and then moves `place` on;
/// graphs stay where they are while nodes are added to the method.
template <typename Visit>
Status for_each_delegate_call(Method& method, Graph& graph, const Visit& visit) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id = graph.nodes[i];
    if (is_delegate(method.node(id))) {
      BERTH_TRY(visit(graph, &i));
      continue;
    }
    for (size_t r = 0; r < method.node(id).regions.size(); ++r) {
      BERTH_TRY(for_each_delegate_call(method, method.node(id).regions[r], visit));
    }
  }
  return Done{};
}

/// How messages name a node: `method f, aten::relu (%y) "Relu_0"`.
std::string place_of(const Method& method, const Node& node);

}  // namespace berth::placement
