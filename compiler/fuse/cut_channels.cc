#include "compiler/fuse/cut_channels.h"

#include <algorithm>

#include "compiler/fuse/channel_heads.h"
#include "compiler/fuse/moved.h"

namespace berth::fuse {
namespace {

using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// The cut whose groups `view` joins: [n, groups, size, places] becomes [n, groups * size, …places].
std::optional<ChannelHeads> joined_cut(const Context& context, const Node& view) {
  const ValueId cut = value_argument(view, 0);
  if (!cut.valid() || !is_row_major(context, cut) || !is_row_major(context, view.results[0])) return std::nullopt;
  const std::vector<Dim>& parts = context.type(cut).shape;
  const std::vector<Dim>& image = context.type(view.results[0]).shape;
  if (parts.size() != 4 || image.size() < 3 || image[0] != parts[0]) return std::nullopt;
  const Strided from = strided(context, cut, false);
  const auto heads = channel_heads(context, from, true);
  if (!heads || heads->stride == heads->size || !cuts_heads(*heads, parts[1].value)) return std::nullopt;
  const std::vector<Dim>& whole = context.type(heads->base).shape;
  const bool fits = image[1] == Dim(parts[1].value * heads->size) && whole.size() == image.size() &&
                    std::equal(image.begin() + 2, image.end(), whole.begin() + 2) && whole[0] == image[0];
  return fits && is_convolved(context, heads->base) ? heads : std::nullopt;
}

Expected<passes::Action> visit_cut(Context& context, ir::Builder& build, NodeId id) {
  const Node node = context.node(id);
  if (!node.op->is_reshape() || !context.target(id).channels_last) return passes::Action::keep();
  const auto heads = joined_cut(context, node);
  if (!heads) return passes::Action::keep();
  const std::vector<Dim> parts = context.type(value_argument(node, 0)).shape;
  const std::vector<Dim> image = context.type(node.results[0]).shape;
  BERTH_ASSIGN_OR_RETURN(const ValueId rows, rows_of_channels(context, build, *heads, parts[0], parts[3], node.source));
  BERTH_ASSIGN_OR_RETURN(const ValueId cut, heads_of_rows(context, build, *heads, parts[1].value, rows, node.source));
  BERTH_ASSIGN_OR_RETURN(const ValueId columns,
                         with_shape(context, build, cut, {parts[0], parts[3], image[1]}, node.source));
  BERTH_ASSIGN_OR_RETURN(const ValueId turned, permuted_by(build, columns, {0, 2, 1}, node.source));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, with_shape(context, build, turned, image, node.source));
  return context.replace(id, result);
}

}  // namespace

Expected<passes::Changed> cut_channels(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(visit_cut); });
}

}  // namespace berth::fuse
