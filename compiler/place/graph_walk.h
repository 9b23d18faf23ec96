// What the passes of this room ask of a graph whose nodes hold regions.
#pragma once

#include "compiler/ir/module.h"

namespace berth::place {

inline bool is_delegate(const ir::Node& node) { return node.is(ir::OpId::delegate); }

inline bool is_copy(const ir::Node& node) {
  return node.is(ir::OpId::h2d_copy_out) || node.is(ir::OpId::d2h_copy_out) || node.is(ir::OpId::d2d_copy_out);
}

/// Calls `f(ValueId)` for each value that `node` mentions, in its regions too; those of delegates, which are closed,
/// left out. What a region defines itself is among them.
template <typename F>
void for_each_mention(const ir::Method& method, const ir::Node& node, F&& f) {
  for (const ir::Argument& argument : node.args) ir::for_each_value(argument, f);
  if (is_delegate(node)) return;
  for (const ir::Graph& region : node.regions) {
    for (ir::NodeId id : region.nodes) for_each_mention(method, method.node(id), f);
    for (const ir::Argument& output : region.outputs) ir::for_each_value(output, f);
  }
}

/// How messages name a node: `method f, aten::relu (%y) "Relu_0"`.
std::string place_of(const ir::Method& method, const ir::Node& node);

}  // namespace berth::place
