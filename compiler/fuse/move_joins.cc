#include "compiler/fuse/move_joins.h"

#include "compiler/fuse/moved.h"
#include "compiler/ir/arguments.h"

namespace berth::fuse {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

Expected<passes::Action> move_concatenation(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  ir::ValueList parts = std::get<ir::ValueList>(node.args[arg::cat_out::tensors]);
  const int64_t rank = context.type(node.results[0]).rank();
  const int64_t given = std::get<Dim>(node.args[arg::cat_out::dim]).value;
  int64_t dim = given < 0 ? given + rank : given;
  Moved all;
  int64_t ones = 0;
  for (ValueId& part : parts) {
    const Moved one = moved(context, context.maker(part));
    if (!one.valid() || !is_convolved(context, one.base)) return passes::Action::keep();
    if (one.is_view()) ones = leading_ones(context, one, part);
    const bool alike =
        !all.valid() || (one.order == all.order && context.type(one.base).rank() == context.type(all.base).rank());
    // Images that are joined one after the other stay: what reads them as one tensor has no order for channels.
    if (!alike || ones < 0 || (one.is_view() && dim <= ones)) return passes::Action::keep();
    all = one;
    part = one.base;
  }
  if (!all.valid()) return passes::Action::keep();
  dim = all.is_view() ? dim - ones : all.order[dim];
  const std::string source = node.source;
  const DimList shape = context.type(node.results[0]).shape;
  BERTH_ASSIGN_OR_RETURN(const ValueId joined, build.one(OpId::cat_out, {std::move(parts), Dim(dim)}, source));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, all.is_view() ? with_shape(context, build, joined, shape, source)
                                                             : permuted_by(build, joined, all.order, source));
  return context.replace(id, result);
}

Expected<passes::Action> move_group_norm(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  const ValueId input = value_argument(node, arg::native_group_norm_out::input);
  if (!context.target(id).channels_last || context.uses(node.results[1]) + context.uses(node.results[2]) > 0) {
    return passes::Action::keep();
  }
  const Moved frames = moved(context, context.maker(input));
  if (frames.order != DimOrder{0, 2, 1, 3, 4} || !context.type(frames.base).is_static() ||
      !is_convolved(context, frames.base)) {
    return passes::Action::keep();
  }
  const std::vector<Dim> sizes = context.type(frames.base).shape;  // [n, frames, channels, height, width]
  const auto all = [](Dim a, Dim b) { return Dim(a.value * b.value); };
  const Dim count = all(sizes[0], sizes[1]), height = all(sizes[1], sizes[3]);
  const std::string source = node.source;
  std::vector<Argument> args = node.args;
  // Channels go behind places, the image gets another height, and they come back: no byte moves.
  const auto as_image = [&](ValueId value, Dim images, Dim rows) -> Expected<ValueId> {
    BERTH_ASSIGN_OR_RETURN(const ValueId places, permuted_by(build, value, {0, 2, 3, 1}, source));
    BERTH_ASSIGN_OR_RETURN(const ValueId view,
                           with_shape(context, build, places, {images, rows, sizes[4], sizes[2]}, source));
    return permuted_by(build, view, {0, 3, 1, 2}, source);
  };
  BERTH_ASSIGN_OR_RETURN(const ValueId each,
                         with_shape(context, build, frames.base, {count, sizes[2], sizes[3], sizes[4]}, source));
  BERTH_ASSIGN_OR_RETURN(args[arg::native_group_norm_out::input], as_image(each, sizes[0], height));
  BERTH_ASSIGN_OR_RETURN(const ValueId normed, build.one(OpId::native_group_norm_out, std::move(args), source));
  BERTH_ASSIGN_OR_RETURN(const ValueId changed, as_image(normed, count, sizes[3]));
  BERTH_ASSIGN_OR_RETURN(const ValueId view, with_shape(context, build, changed, sizes, source));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, permuted_by(build, view, frames.order, source));
  context.replaced(context.node(id).results[0], result);
  return passes::Action::replace(std::vector<ValueId>{result, ValueId{}, ValueId{}});
}

}  // namespace berth::fuse
