#include "compiler/fuse/move_permutes.h"

#include <algorithm>
#include <map>

#include "compiler/fuse/move_joins.h"
#include "compiler/fuse/moved.h"
#include "compiler/ir/arguments.h"
#include "compiler/passes/dce.h"
#include "compiler/passes/simplify.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;
bool is_one(const ir::TensorType& type) {
  return std::all_of(type.shape.begin(), type.shape.end(), [](const Dim& dim) { return dim == Dim(1); });
}

// Of an element-wise node: what moved all of its tensors in the same way; those that are one number aside.
Moved move_of_operands(const Context& context, const Node& node) {
  // Those that name a dimension, as quantising by channels does, want their rows as they are.
  if (node.op->in_place != ir::InPlaceClass::kElement || !node.op->layout_agnostic ||
      node.op->view != ir::ViewKind::kNone || node.op->is_fused() || node.results.size() != 1 ||
      !node.regions.empty()) {
    return {};
  }
  Moved all;
  bool same = true;
  for (const Argument& argument : node.args) {
    ir::for_each_value(argument, [&](const ValueId& value) {
      const ir::TensorType* type = context.method().value(value).tensor();
      if (type == nullptr || !std::holds_alternative<ValueId>(argument)) {
        same = false;
        return;
      }
      if (is_one(*type)) return;
      const Moved one = moved(context, context.maker(value));
      const bool alike =
          one.valid() &&
          (!all.valid() || (one.order == all.order && context.type(one.base).shape == context.type(all.base).shape));
      if (!alike || context.uses(value) != 1 || type->shape != context.type(node.results[0]).shape) {
        same = false;
        return;
      }
      if (!all.valid() || !is_convolved(context, all.base)) all = one;
    });
  }
  return same && all.valid() && is_convolved(context, all.base) ? all : Moved{};
}

Expected<passes::Action> move_element_wise(Context& context, ir::Builder& build, NodeId id) {
  const Moved all = move_of_operands(context, context.node(id));
  if (!all.valid()) return passes::Action::keep();
  const Node& node = context.node(id);
  std::vector<Argument> args = node.args;
  for (Argument& argument : args) {
    ValueId* const value = std::get_if<ValueId>(&argument);
    const bool moves = value != nullptr && !is_one(context.type(*value));
    const Moved one = moves ? moved(context, context.maker(*value)) : Moved{};
    if (one.valid()) *value = one.base;
  }
  const std::string source = node.source;
  const DimList shape = context.type(node.results[0]).shape;
  BERTH_ASSIGN_OR_RETURN(const auto changed, build.create(*node.op, std::move(args), source));
  if (all.is_view()) {
    BERTH_ASSIGN_OR_RETURN(const ValueId view, build.one(OpId::view_copy_out, {changed[0], shape}, source));
    return context.replace(id, view);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId result, permuted_by(build, changed[0], all.order, source));
  return context.replace(id, result);
}

// Pairs begin with the last dimension's, and those of one element may have none.
Expected<passes::Action> move_padding_of_view(Context& context, ir::Builder& build, NodeId id, const Moved& view,
                                              ValueId padded) {
  const int64_t ones = leading_ones(context, view, padded);
  DimList pad = std::get<DimList>(context.node(id).args[arg::constant_pad_nd_out::pad]);
  const size_t most = 2 * context.type(view.base).shape.size();
  if (ones < 0 ||
      std::any_of(pad.begin() + std::min(most, pad.size()), pad.end(), [](const Dim& d) { return d != Dim(0); })) {
    return passes::Action::keep();
  }
  pad.resize(std::min(most, pad.size()), Dim(0));
  const std::string source = context.node(id).source;
  const DimList shape = context.type(context.node(id).results[0]).shape;
  const Argument value = context.node(id).args[arg::constant_pad_nd_out::value];
  BERTH_ASSIGN_OR_RETURN(const ValueId whole, build.one(OpId::constant_pad_nd_out, {view.base, pad, value}, source));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, build.one(OpId::view_copy_out, {whole, shape}, source));
  return context.replace(id, result);
}

// A part of a view with more dimensions of one element, as a view of the part.
Expected<passes::Action> move_slice(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  const ValueId whole = value_argument(node, arg::slice_copy_Tensor_out::self);
  const Moved view = whole.valid() ? moved(context, context.maker(whole)) : Moved{};
  const auto* dim = std::get_if<Dim>(&node.args[arg::slice_copy_Tensor_out::dim]);
  if (!view.valid() || !view.is_view() || dim == nullptr || !is_convolved(context, view.base)) {
    return passes::Action::keep();
  }
  const int64_t ones = leading_ones(context, view, whole);
  const int64_t at = (dim->value < 0 ? dim->value + context.type(whole).rank() : dim->value) - ones;
  if (ones < 0 || at < 0) return passes::Action::keep();
  std::vector<Argument> args = node.args;
  args[arg::slice_copy_Tensor_out::self] = view.base;
  args[arg::slice_copy_Tensor_out::dim] = Dim(at);
  const std::string source = node.source;
  const DimList shape = context.type(node.results[0]).shape;
  BERTH_ASSIGN_OR_RETURN(const ValueId part, build.one(OpId::slice_copy_Tensor_out, std::move(args), source));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, build.one(OpId::view_copy_out, {part, shape}, source));
  return context.replace(id, result);
}

// Where nothing but permutations reads what is padded.
Expected<passes::Action> move_padding(Context& context, ir::Builder& build, NodeId id, bool only_permuted) {
  const Node& node = context.node(id);
  const ValueId padded = value_argument(node, arg::constant_pad_nd_out::self);
  const Moved one = padded.valid() ? moved(context, context.maker(padded)) : Moved{};
  const auto* pad = std::get_if<DimList>(&node.args[arg::constant_pad_nd_out::pad]);
  if (!one.valid() || pad == nullptr || context.uses(padded) != 1 || !is_convolved(context, one.base)) {
    return passes::Action::keep();
  }
  if (one.is_view()) return move_padding_of_view(context, build, id, one, padded);
  if (!only_permuted) return passes::Action::keep();
  // Pairs begin with the last dimension's.
  const auto rank = static_cast<int64_t>(one.order.size());
  DimList pairs(2 * rank, Dim(0));
  for (int64_t k = 0; 2 * k + 1 < static_cast<int64_t>(pad->size()); ++k) {
    const int64_t dim = rank - 1 - one.order[rank - 1 - k];
    pairs[2 * dim] = (*pad)[2 * k];
    pairs[2 * dim + 1] = (*pad)[2 * k + 1];
  }
  const std::string source = node.source;
  const Argument value = node.args[arg::constant_pad_nd_out::value];
  BERTH_ASSIGN_OR_RETURN(const ValueId whole, build.one(OpId::constant_pad_nd_out, {one.base, pairs, value}, source));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, permuted_by(build, whole, one.order, source));
  return context.replace(id, result);
}

// Of each value, whether permutations read it, and nothing else.
IdVector<ValueId, bool> only_permuted(const ir::Method& method) {
  IdVector<ValueId, bool> permuted(method.values.size()), read(method.values.size());
  ir::for_each_graph(method, method.body, [&](const ir::Graph& graph) {
    for (const Argument& output : graph.outputs) ir::for_each_value(output, [&](const ValueId& v) { read[v] = true; });
    for (NodeId id : graph.nodes) {
      const Node& node = method.node(id);
      auto& kind = node.is(OpId::permute_copy_out) ? permuted : read;
      for (const Argument& argument : node.args)
        ir::for_each_value(argument, [&](const ValueId& v) { kind[v] = true; });
    }
  });
  for (const ValueId value : permuted.ids()) permuted[value] = permuted[value] && !read[value];
  return permuted;
}

}  // namespace

Expected<passes::Changed> move_permutes(ir::Module& module, const Targets& targets, const passes::Options& options) {
  passes::Changed changed = passes::Changed::kNo;
  while (true) {
    // Before the first node is replaced: who reads what comes later in a graph.
    std::map<const ir::Method*, IdVector<ValueId, bool>> only;
    for (const ir::Method& method : module.methods) only.emplace(&method, only_permuted(method));
    const auto visit_of = [&] {
      return Visit([&only](Context& context, ir::Builder& build, NodeId id) -> Expected<passes::Action> {
        const Node& node = context.node(id);
        if (node.is(OpId::slice_copy_Tensor_out)) return move_slice(context, build, id);
        if (node.is(OpId::cat_out)) return move_concatenation(context, build, id);
        if (node.is(OpId::native_group_norm_out)) return move_group_norm(context, build, id);
        if (!node.is(OpId::constant_pad_nd_out)) return move_element_wise(context, build, id);
        return move_padding(context, build, id, only.at(&context.method())[node.results[0]]);
      });
    };
    BERTH_ASSIGN_OR_RETURN(const passes::Changed one, rewrite_regions(module, targets, options, visit_of));
    if (one == passes::Changed::kNo) return changed;
    changed = passes::Changed::kYes;
    // Joins what now follows each other.
    BERTH_TRY(passes::simplify(module, options));
    BERTH_TRY(passes::dce(module, options));
  }
}

}  // namespace berth::fuse
