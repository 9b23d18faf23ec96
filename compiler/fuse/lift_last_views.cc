#include "compiler/fuse/lift_last_views.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/arguments.h"

namespace berth::fuse {
namespace {

using ir::Graph;
using ir::Method;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::TensorType;
using ir::ValueId;

using Sizes = std::optional<ir::DimList>;

// What `value`, which a region gives, is a view of; invalid if it is none, or not one of known bytes in the same order
// that a node of the region makes.
ValueId base_of(const Method& method, ValueId value) {
  ValueId base = value;
  const TensorType& type = method.tensor(value);
  for (const Node* node = passes::defining_node(method, base); node != nullptr && node->op->is_reshape();
       node = passes::defining_node(method, base)) {
    base = std::get<ValueId>(node->args[arg::view::self]);
  }
  const Node* const maker = passes::defining_node(method, base);
  if (base == value || maker == nullptr || maker->is(OpId::state_read)) return {};
  const TensorType& from = method.tensor(base);
  const bool same_bytes = from.is_static() && type.is_static() && from.is_contiguous() && type.is_contiguous() &&
                          from.dtype == type.dtype && from.device == type.device;
  return same_bytes ? base : ValueId{};
}

// The values that copies to the host read, and nothing else outside of delegates.
IdVector<ValueId, bool> only_copied(const Method& method) {
  IdVector<ValueId, bool> copied(method.values.size()), read(method.values.size());
  const auto is_read = [&](const ValueId& value) { read[value] = true; };
  for (const ir::Argument& output : method.body.outputs) ir::for_each_value(output, is_read);
  for (NodeId id : method.body.nodes) {
    const Node& node = method.node(id);
    if (node.is(OpId::d2h_copy_out)) {
      ir::for_each_mention(method, node, [&](const ValueId& value) { copied[value] = true; });
    } else {
      ir::for_each_mention(method, node, is_read);
    }
  }
  for (const ValueId value : copied.ids()) copied[value] = copied[value] && !read[value];
  return copied;
}

// Lets the delegates give what their last views are of. Of each result that has other sizes now, those that it had.
IdVector<ValueId, Sizes> give_bases(const ir::Module& module, Method& method, const Targets& targets) {
  IdVector<ValueId, Sizes> sizes(method.values.size());
  const IdVector<ValueId, bool> only = only_copied(method);
  const NodeTargets of = targets_of_nodes(module, method, targets);
  for (NodeId id : method.body.nodes) {
    Node& call = method.nodes[id];
    if (!call.is(OpId::delegate) || call.regions.empty() || call.regions[0].nodes.empty()) continue;
    const targets::Target* const target = of[call.regions[0].nodes[0]];
    if (target == nullptr || !target->fuses || target->device.is_cpu()) continue;
    std::vector<ir::Argument>& outputs = call.regions[0].outputs;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const ValueId* const value = std::get_if<ValueId>(&outputs[k]);
      const ValueId base = value == nullptr || !only[call.results[k]] ? ValueId{} : base_of(method, *value);
      // Two results of the same bytes would be a copy again.
      if (!base.valid() || std::count(outputs.begin(), outputs.end(), ir::Argument(base)) != 0) continue;
      TensorType& given = *method.value(call.results[k]).tensor();
      sizes[call.results[k]] = given.shape;
      given.shape = method.tensor(base).shape;
      given.dim_order = method.tensor(base).dim_order;
      outputs[k] = base;
    }
  }
  return sizes;
}

}  // namespace

Expected<passes::Changed> lift_last_views(ir::Module& module, const Targets& targets, const passes::Options&) {
  return passes::rewrite(module, [&](ir::Module& whole, Method& method) -> passes::Visitor {
    auto sizes = give_bases(whole, method, targets);
    return [&method, sizes](ir::Builder& build, NodeId id, bool* changed) -> Expected<passes::Action> {
      const Node& node = method.node(id);
      if (!node.is(OpId::d2h_copy_out)) return passes::Action::keep();
      const ValueId* const from = std::get_if<ValueId>(&node.args[0]);
      if (from == nullptr || !sizes.contains(*from) || !sizes[*from]) return passes::Action::keep();
      *changed = true;
      const ir::DimList shape = *sizes[*from];
      const std::string source = node.source;
      const Device device = method.tensor(node.results[0]).device;
      BERTH_ASSIGN_OR_RETURN(const ValueId copied, build.one(OpId::d2h_copy_out, node.args, source));
      method.value(copied).tensor()->device = device;
      BERTH_ASSIGN_OR_RETURN(const ValueId view, build.one(OpId::view_copy_out, {copied, shape}, source));
      return passes::Action::replace(view);
    };
  });
}

}  // namespace berth::fuse
