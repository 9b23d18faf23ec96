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

// The graph in which each value is read: null where several read it, or a graph gives it.
class Readers {
 public:
  explicit Readers(Method& method) : in_(method.values.size()), product_(method.values.size(), true) {
    ir::for_each_graph(method, method.body, [&](Graph& graph) {
      for (NodeId id : graph.nodes) {
        const Node& node = method.node(id);
        const bool product = is_product(node);
        if (node.is(ir::OpId::delegate)) {
          for (const Graph& region : node.regions) closed_.push_back(&region);
        }
        for (const ir::Argument& argument : node.args) {
          ir::for_each_value(argument, [&](const ValueId& value) { add(value, &graph, product); });
        }
      }
      for (const ir::Argument& output : graph.outputs) {
        ir::for_each_value(output, [&](const ValueId& value) { add(value, nullptr, false); });
      }
    });
  }

  /// The only graph of the readers of all results, if they are products or, by moved(), stand before such.
  Graph* of(const Node& node) const {
    Graph* common = nullptr;
    for (ValueId result : node.results) {
      const In& in = in_[result];
      if (in.count == 0) continue;
      if (in.graph == nullptr || !product_[result] || (common != nullptr && common != in.graph)) return nullptr;
      common = in.graph;
    }
    // What a delegate holds is its own.
    return std::find(closed_.begin(), closed_.end(), common) == closed_.end() ? common : nullptr;
  }

  /// From now on the node, which is not a product, reads in `graph`.
  void moved(const Node& node, Graph* from, Graph* graph) {
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](const ValueId& value) {
        if (in_[value].graph != from || in_[value].count != 1) return;
        in_[value].graph = graph;
        product_[value] = true;
      });
    }
  }

 private:
  struct In {
    Graph* graph = nullptr;
    int count = 0;
  };

  static bool is_product(const Node& node) {
    return node.is(ir::OpId::mm_out) || node.is(ir::OpId::addmm_out) || node.is(ir::OpId::convolution_out);
  }

  void add(ValueId value, Graph* graph, bool product) {
    In& in = in_[value];
    in.graph = in.count++ == 0 || in.graph == graph ? graph : nullptr;
    product_[value] = product_[value] && product;
  }

  IdVector<ValueId, In> in_;
  IdVector<ValueId, bool> product_;  // whether nothing else reads the value
  std::vector<const Graph*> closed_;
};

class Sinker {
 public:
  Sinker(Method& method, Graph& graph) : method_(method), graph_(graph), from_constants_(method.nodes.size()) {}

  // The last first: what makes a weight follows it.
  bool into_bodies(Readers& readers) {
    for (NodeId id : graph_.nodes) from_constants_[id] = is_from_constants(method_.node(id));
    bool any = false;
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      const NodeId id = graph_.nodes[i];
      Graph* const body = from_constants_[id] ? readers.of(method_.node(id)) : nullptr;
      if (body == nullptr || body == &graph_) continue;
      body->nodes.insert(body->nodes.begin(), id);
      graph_.nodes.erase(graph_.nodes.begin() + static_cast<ptrdiff_t>(i));
      readers.moved(method_.node(id), &graph_, body);
      any = true;
    }
    return any;
  }

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
    // A size that it finds is known to all nodes behind it.
    if (node.op->sized_by_contents) return false;
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
    Readers readers(method);
    ir::for_each_graph(method, method.body, [&](Graph& graph) {
      changed = changed | changed_if(Sinker(method, graph).into_bodies(readers));
    });
    ir::for_each_graph(method, method.body,
                       [&](Graph& graph) { changed = changed | changed_if(Sinker(method, graph).run()); });
  }
  return changed;
}

}  // namespace berth::passes
