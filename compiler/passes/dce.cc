#include "compiler/passes/dce.h"

#include <algorithm>

#include "compiler/ir/delegate.h"
#include "compiler/passes/rewrite.h"

namespace berth::passes {
namespace {

using ir::Argument;
using ir::Graph;
using ir::Method;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

class Sweep {
 public:
  Sweep(const ir::Module& module, Method& method, const Options& options)
      : module_(module),
        method_(method),
        options_(options),
        live_(method.values.size()),
        live_sizes_(module.symbols.size()) {}

  bool run() {
    graph(method_.body);
    return changed_;
  }

 private:
  void mark(const Argument& argument) {
    ir::for_each_value(argument, [&](const ValueId& id) { live_[id] = true; });
    ir::for_each_dim(argument, [&](const ir::Dim& dim) { mark(dim); });
  }

  void mark(ir::Dim dim) {
    if (dim.is_constant() || live_sizes_[dim.symbol]) return;
    live_sizes_[dim.symbol] = true;
    const ir::Symbol& symbol = module_.symbols[dim.symbol];
    if (symbol.kind == ir::SymbolKind::kInput) return;
    mark(symbol.a);
    mark(symbol.b);
  }

  void mark_sizes(ValueId id) {
    const ir::TensorType* type = method_.value(id).tensor();
    if (type == nullptr) return;
    for (const ir::Dim& dim : type->shape) mark(dim);
  }

  // A size that depends on contents is known by the tensor that has it, whether that is read or not.
  bool defines_live_size(const Node& node) const {
    if (!node.op->sized_by_contents) return false;
    const ir::Dim size = method_.tensor(node.results[0]).shape[0];
    return !size.is_constant() && live_sizes_[size.symbol];
  }

  // Backwards: readers stand behind what they read.
  void graph(Graph& graph) {
    for (const Argument& output : graph.outputs) mark(output);
    std::vector<NodeId> kept;
    for (auto id = graph.nodes.rbegin(); id != graph.nodes.rend(); ++id) {
      Node& node = method_.node(*id);
      const bool read =
          std::any_of(node.results.begin(), node.results.end(), [&](ValueId result) { return live_[result]; });
      if (!read && !ir::may_have_effects(module_, method_, node) && !defines_live_size(node)) {
        remark(options_, "dce", method_, node, "gone: unread");
        changed_ = true;
        continue;
      }
      kept.push_back(*id);
      for (const Argument& argument : node.args) mark(argument);
      for (ValueId result : node.results) mark_sizes(result);
      for (Graph& region : node.regions) this->graph(region);
    }
    graph.nodes.assign(kept.rbegin(), kept.rend());
  }

  const ir::Module& module_;
  Method& method_;
  const Options& options_;
  IdVector<ir::ValueId, bool> live_;
  IdVector<ir::SymbolId, bool> live_sizes_;
  bool changed_ = false;
};

}  // namespace

Expected<Changed> dce(ir::Module& module, const Options& options) {
  bool changed = false;
  for (Method& method : module.methods) changed = Sweep(module, method, options).run() || changed;
  changed = drop_unused_constants(module) > 0 || changed;
  return changed_if(changed);
}

}  // namespace berth::passes
