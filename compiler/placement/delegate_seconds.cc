#include "compiler/placement/delegate_seconds.h"

#include <algorithm>
#include <set>

#include "compiler/placement/operator_work.h"

namespace berth::placement {
namespace {

using ir::Method;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool takes_more(const Module& module, const Method& method, const Node& node) {
  const WorkKind kind = work_at(module, method, node).kind;
  return is_elementwise(node) || kind == WorkKind::kProduct || kind == WorkKind::kConvolution ||
         kind == WorkKind::kDepthwise;
}

/// The bytes that a node reads beside the value that it is fused into the maker of; -1 when there is none.
double bytes_beside(const Module& module, const Method& method, const Node& node, const std::set<ValueId>& open,
                    const IdVector<ValueId, int>& uses) {
  double bytes = 0;
  double fused = -1;
  for (const ir::Argument& argument : node.args) {
    ir::for_each_value(argument, [&](ValueId value) {
      const double own = bytes_of(module, method, value);
      bytes += own;
      if (uses[value] == 1 && open.count(value) != 0) fused = std::max(fused, own);
    });
  }
  return fused < 0 ? -1 : bytes - fused;
}

}  // namespace

double seconds_of_node(const Module& module, const Method& method, const Node& node, const DeviceCosts& costs) {
  double inside = 0;
  for (const ir::Graph& region : node.regions) {
    for (const NodeId id : region.nodes) inside += seconds_of_node(module, method, method.node(id), costs);
  }
  if (!node.regions.empty()) return inside * turns_of(module, node);
  const Work work = work_at(module, method, node);
  return work.bytes == 0 ? 0 : seconds_of(work, costs);
}

double seconds_of_part(const Module& module, const Method& method, const std::vector<NodeId>& nodes,
                       const DeviceCosts& costs, bool fuses) {
  const IdVector<ValueId, int> uses = ir::count_uses(method);
  std::set<ValueId> open;  // what others may be fused into the makers of
  double seconds = costs.call_seconds;
  for (const NodeId id : nodes) {
    const Node& node = method.node(id);
    const double alone = seconds_of_node(module, method, node, costs);
    const double beside = fuses && is_elementwise(node) ? bytes_beside(module, method, node, open, uses) : -1;
    seconds += beside < 0 ? alone : std::min(alone, seconds_of_work({WorkKind::kElementwise, 0, beside}, costs));
    if (node.regions.empty() && takes_more(module, method, node)) open.insert(node.results.begin(), node.results.end());
  }
  return seconds;
}

}  // namespace berth::placement
