#include "compiler/passes/sink_constants.h"

#include <algorithm>

#include "compiler/passes/rewrite.h"

namespace berth::passes {
namespace {

using ir::Graph;
using ir::Method;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

class Sinker {
 public:
  Sinker(Method& method, Graph& graph) : method_(method), graph_(graph), from_constants_(method.nodes.size()) {}

  bool run() {
    const std::vector<NodeId> before = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (NodeId id : before) from_constants_[id] = is_from_constants(method_.node(id));
    placed_.resize(method_.nodes.size());
    position_.resize(method_.nodes.size());
    for (size_t i = 0; i < before.size(); ++i) position_[before[i]] = i;
    for (NodeId id : before) {
      if (!from_constants_[id]) place(id);
    }
    // Those that outputs alone read, and unread ones.
    for (NodeId id : before) place(id);
    return graph_.nodes != before;
  }

 private:
  bool is_from_constants(const Node& node) const {
    if (node.op->infer == nullptr || node.op->is_random() || !node.regions.empty()) return false;
    bool any = false;
    bool all = true;
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](const ValueId& value) {
        any = true;
        const ir::Value& read = method_.value(value);
        const bool made = read.kind == ir::ValueKind::kNode && from_constants_[read.node];
        all = all && (made || read.kind == ir::ValueKind::kConstant);
      });
    }
    return any && all;
  }

  // Behind all nodes of constants that it needs, in the order in which they stood.
  void place(NodeId id) {
    std::vector<NodeId> needed;
    need(id, &needed);
    for (size_t i = 0; i < needed.size(); ++i) {
      ir::for_each_mention(method_, method_.node(needed[i]), [&](const ValueId& value) {
        const ir::Value& read = method_.value(value);
        if (read.kind == ir::ValueKind::kNode && from_constants_[read.node]) need(read.node, &needed);
      });
    }
    std::sort(needed.begin(), needed.end(), [&](NodeId a, NodeId b) { return position_[a] < position_[b]; });
    graph_.nodes.insert(graph_.nodes.end(), needed.begin(), needed.end());
  }

  void need(NodeId id, std::vector<NodeId>* needed) {
    if (!placed_[id]) needed->push_back(id);
    placed_[id] = true;
  }

  Method& method_;
  Graph& graph_;
  IdVector<NodeId, bool> from_constants_;  // nodes of this graph
  IdVector<NodeId, bool> placed_;
  IdVector<NodeId, size_t> position_;
};

}  // namespace

Expected<Changed> sink_constants(ir::Module& module, const Options& options) {
  Changed changed = Changed::kNo;
  if (!options.keep_quantized) return changed;
  for (Method& method : module.methods) {
    ir::for_each_graph(method, method.body,
                       [&](Graph& graph) { changed = changed | changed_if(Sinker(method, graph).run()); });
  }
  return changed;
}

}  // namespace berth::passes
