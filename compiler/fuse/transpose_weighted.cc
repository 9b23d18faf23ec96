#include "compiler/fuse/transpose_weighted.h"

#include "compiler/fuse/attention_scores.h"
#include "compiler/fuse/moved.h"
#include "compiler/fuse/strided.h"

namespace berth::fuse {
namespace {

using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

// The softmax over its last dimension that `value`, [heads, tokens, queries], is a transposition of: that softmax.
ValueId transposed_softmax(const Context& context, ValueId value) {
  const std::vector<Dim>& sizes = context.type(value).shape;
  const ValueId turned = through_views(context, value);
  const Node* turn = context.maker(turned);
  if (turn == nullptr || context.uses(turned) != 1 || context.uses(value) != 1) return {};
  const ValueId shares = exchanged_rows(context, *turn);
  if (!is_row_major_f32(context, shares) || context.uses(shares) != 1) return {};
  const std::vector<Dim>& rows = context.type(shares).shape;
  // A view between must not have cut rows into others.
  if (rows.size() < 2 || rows.back() != sizes[1] || rows[rows.size() - 2] != sizes[2]) return {};
  const ValueId base = through_views(context, shares);
  const Node* softmax = made_by(context, base, OpId::softmax_out);
  if (softmax == nullptr || context.type(base).shape.back() != rows.back()) return {};
  const auto dim = context.number(softmax->args[arg::softmax_out::dim]);
  return dim == -1.0 || dim == static_cast<double>(context.type(base).rank() - 1) ? shares : ValueId{};
}

Expected<passes::Action> visit(Context& context, ir::Builder& build, NodeId id) {
  const Node node = context.node(id);
  if (!node.is(OpId::bmm_out) || !is_row_major_f32(context, node.results[0])) return passes::Action::keep();
  const ValueId values = value_argument(node, arg::bmm_out::self);
  const ValueId turned = value_argument(node, arg::bmm_out::mat2);
  if (!is_row_major_f32(context, values) || !is_row_major_f32(context, turned)) return passes::Action::keep();
  const ValueId shares = transposed_softmax(context, turned);
  if (!shares.valid()) return passes::Action::keep();
  const std::vector<Dim> sizes = context.type(turned).shape;
  const DimOrder order = {0, 2, 1};
  BERTH_ASSIGN_OR_RETURN(const ValueId rows, permuted_by(build, values, order, node.source));
  BERTH_ASSIGN_OR_RETURN(const ValueId weights,
                         with_shape(context, build, shares, {sizes[0], sizes[2], sizes[1]}, node.source));
  BERTH_ASSIGN_OR_RETURN(const ValueId product, build.one(OpId::bmm_out, {weights, rows}, node.source));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, permuted_by(build, product, order, node.source));
  return context.replace(id, result);
}

}  // namespace

Expected<passes::Changed> transpose_weighted(ir::Module& module, const Targets& targets,
                                             const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(visit); });
}

}  // namespace berth::fuse
