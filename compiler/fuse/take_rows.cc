#include "compiler/fuse/take_rows.h"

#include <algorithm>

#include "compiler/fuse/row_block.h"

namespace berth::fuse {
namespace {

using ir::Dim;
using ir::Node;
using ir::NodeId;
using ir::OpId;
using ir::ValueId;

struct Part {
  ValueId whole;
  int64_t begin = 0, end = 0;
};

// The rows that a slice or a selection takes; none for other nodes.
Part part_of(const Context& context, const Node& node) {
  const bool slice = node.is(OpId::slice_copy_Tensor_out);
  if (!slice && !node.is(OpId::select_copy_int_out)) return {};
  const ValueId whole = value_argument(node, 0);
  if (!whole.valid()) return {};
  const int64_t rows = rows_of(context.type(whole)).count;
  const auto dim = context.number(
      node.args[slice ? size_t{arg::slice_copy_Tensor_out::dim} : size_t{arg::select_copy_int_out::dim}]);
  const int rank = context.type(whole).rank();
  if (rows < 2 || !dim || (*dim != rank - 2 && *dim != -2)) return {};
  const auto place = [&](const ir::Argument& argument, int64_t none) {
    const auto* given = std::get_if<Dim>(&argument);
    if (given == nullptr || !given->is_constant()) return ir::is_none(argument) ? none : int64_t{-1};
    return std::clamp<int64_t>(given->value < 0 ? given->value + rows : given->value, 0, rows);
  };
  if (!slice) {
    const int64_t row = place(node.args[arg::select_copy_int_out::index], -1);
    return row < 0 || row >= rows ? Part{} : Part{whole, row, row + 1};
  }
  if (node.args[arg::slice_copy_Tensor_out::step] != ir::Argument(Dim(1))) return {};
  const int64_t begin = place(node.args[arg::slice_copy_Tensor_out::start], 0);
  const int64_t end = place(node.args[arg::slice_copy_Tensor_out::end], rows);
  return begin < 0 || end <= begin ? Part{} : Part{whole, begin, end};
}

Expected<passes::Action> take(Context& context, ir::Builder& build, NodeId id) {
  const Node& node = context.node(id);
  if (!takes_bytes(context.target(id))) return passes::Action::keep();
  const Part part = part_of(context, node);
  if (!part.whole.valid() || context.uses(part.whole) != 1 || context.maker(part.whole) == nullptr) {
    return passes::Action::keep();
  }
  const RowBlock block(context, context.method().value(part.whole).node, RowBlock::Products::kAll);
  if (!block.valid() || part.end - part.begin >= block.rows()) return passes::Action::keep();
  const std::string source = node.source;
  const std::vector<Dim> shape = context.type(node.results[0]).shape;
  BERTH_ASSIGN_OR_RETURN(const ValueId rows, block.append(context, build, part.begin, part.end));
  BERTH_ASSIGN_OR_RETURN(const ValueId result, with_shape(context, build, rows, shape, source));
  return context.replace(id, result);
}

}  // namespace

Expected<passes::Changed> take_rows(ir::Module& module, const Targets& targets, const passes::Options& options) {
  return rewrite_regions(module, targets, options, [] { return Visit(take); });
}

}  // namespace berth::fuse
