#include "compiler/fuse/recurrent_loops.h"

#include <algorithm>

#include "compiler/fuse/gates.h"

namespace berth::fuse {

using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;
using ir::ValueList;

namespace {

// What was turned round twice.
passes::Action unturned(const Context& context, NodeId id) {
  const Node* inner = context.maker(value_argument(context.node(id), 0));
  if (inner == nullptr || !is_turned_round(*inner)) return passes::Action::keep();
  const ValueId all = value_argument(*inner, 0);
  const Node* layer = context.maker(all);
  const bool ours = layer != nullptr && (layer->is(OpId::fused_lstm_out) || layer->is(OpId::fused_gru_out));
  return ours ? passes::Action::replace(all) : passes::Action::keep();
}

}  // namespace

const ValueList& carried_of(const Node& loop) { return std::get<ValueList>(loop.args[arg::scan::carried]); }

bool has_effects(const Context& context, const Node& loop) {
  const std::vector<NodeId>& nodes = loop.regions[0].nodes;
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId id) { return context.node(id).results.empty() || !context.node(id).regions.empty(); });
}

std::optional<Scanned> scanned_rows(const Context& context, const Node& loop, ValueId row) {
  const ValueList& scanned = std::get<ValueList>(loop.args[arg::scan::scanned]);
  for (size_t i = 0; i < scanned.size(); ++i) {
    if (loop.regions[0].inputs[carried_of(loop).size() + i] != row) continue;
    const Node* turned = context.maker(scanned[i]);
    if (turned != nullptr && is_turned_round(*turned)) return Scanned{value_argument(*turned, 0), true};
    return Scanned{scanned[i], false};
  }
  return std::nullopt;
}

bool has_steps(const Context& context, const Node& loop, ValueId rows) {
  const Dim length = std::get<Dim>(loop.args[arg::scan::length]);
  const std::vector<Dim>& shape = context.type(rows).shape;
  return !shape.empty() && shape[0] == length && context.symbols().lower(length) >= 1;
}

Expected<passes::Changed> rewrite_loops(ir::Module& module, const LoopFilter& fits, const passes::Options& options,
                                        FuseLoop fuse) {
  passes::Changed changed = passes::Changed::kNo;
  for (ir::Method& method : module.methods) {
    Context context(module, method, options);
    const passes::Visitor visit = [&](ir::Builder& build, NodeId id, bool*) -> Expected<passes::Action> {
      const Node& node = method.node(id);
      if (is_turned_round(node)) return unturned(context, id);
      if (!node.is(OpId::scan) || !fits(method, node)) return passes::Action::keep();
      return fuse(context, build, id);
    };
    BERTH_ASSIGN_OR_RETURN(const passes::Changed one, passes::rewrite(module, method, visit));
    changed = changed | one;
  }
  return changed;
}

}  // namespace berth::fuse
