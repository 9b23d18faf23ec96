#include "compiler/placement/group_limits.h"

namespace berth::placement {
namespace {

// How often each value is read in the graph, its outputs included.
IdVector<ValueId, int> count_readers(const Method& method, const Graph& graph) {
  IdVector<ValueId, int> readers(method.values.size());
  for (NodeId id : graph.nodes) {
    ir::for_each_mention(method, method.node(id), [&](const ValueId& value) { ++readers[value]; });
  }
  for (const Argument& given : graph.outputs) {
    ir::for_each_value(given, [&](const ValueId& value) { ++readers[value]; });
  }
  return readers;
}

}  // namespace

size_t longest_within(const Method& method, const Graph& graph, const std::vector<NodeId>& nodes,
                      const targets::Limits& limits) {
  IdVector<ValueId, int> readers = count_readers(method, graph);  // that are not in the delegate
  IdVector<ValueId, bool> made(method.values.size());
  IdVector<ValueId, bool> input(method.values.size());
  size_t inputs = 0;
  size_t outputs = 0;
  size_t longest = 0;
  for (size_t i = 0; i < nodes.size() && i < limits.nodes; ++i) {
    ir::for_each_mention(method, method.node(nodes[i]), [&](const ValueId& value) {
      if (made[value]) {
        if (--readers[value] == 0) --outputs;
      } else if (method.value(value).kind != ir::ValueKind::kConstant && !input[value]) {
        input[value] = true;
        ++inputs;
      }
    });
    for (ValueId result : method.node(nodes[i]).results) {
      made[result] = true;
      if (readers[result] > 0) ++outputs;
    }
    if (inputs <= limits.inputs && outputs <= limits.outputs) longest = i + 1;
  }
  return longest;
}

}  // namespace berth::placement
