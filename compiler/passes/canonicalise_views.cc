#include "compiler/passes/canonicalise_views.h"

#include <algorithm>

#include "compiler/ir/arguments.h"
#include "compiler/passes/rewrite.h"

namespace berth::passes {
namespace {

using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::OpId;
using ir::TensorType;

// Sizes other than 1 in the order in which they are taken.
DimList sizes_but_ones(const std::vector<Dim>& shape) {
  DimList sizes;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(sizes), [](Dim d) { return d != Dim(1); });
  return sizes;
}

// Whether the dimensions larger than 1 keep their order, so that only ones move.
bool moves_only_ones(const TensorType& from, const DimList& order) {
  int64_t last = -1;
  for (Dim d : order) {
    const int64_t dim = d.value < 0 ? d.value + from.rank() : d.value;
    if (from.shape[dim] == Dim(1)) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

// Whether `node` gives the elements of its first argument in the same order. Both types are static and contiguous.
bool keeps_bytes(const Node& node, const TensorType& from, const TensorType& to) {
  switch (node.op->id) {
    case OpId::squeeze_copy_dim_out:
    case OpId::squeeze_copy_dims_out:
    case OpId::unsqueeze_copy_out: return true;
    case OpId::permute_copy_out:
      return moves_only_ones(from, std::get<DimList>(node.args[arg::permute_copy_out::dims]));
    case OpId::transpose_copy_int_out: {
      DimList order;
      for (int i = 0; i < from.rank(); ++i) order.push_back(Dim(i));
      const auto wrap = [&](size_t i) {
        const int64_t d = std::get<Dim>(node.args[i]).value;
        return d < 0 ? d + from.rank() : d;
      };
      if (from.rank() > 0)
        std::swap(order[wrap(arg::transpose_copy_int_out::dim0)], order[wrap(arg::transpose_copy_int_out::dim1)]);
      return moves_only_ones(from, order);
    }
    case OpId::t_copy_out: return from.rank() < 2 || sizes_but_ones(from.shape).size() < 2;
    // As many elements as before: then nothing was left out or repeated.
    case OpId::select_copy_int_out:
    case OpId::expand_copy_out:
    case OpId::repeat_out: return sizes_but_ones(from.shape) == sizes_but_ones(to.shape);
    default: return false;
  }
}

}  // namespace

Expected<Changed> canonicalise_views(ir::Module& module, const Options& options) {
  return rewrite(module, [&](ir::Module&, ir::Method& method) -> Visitor {
    return [&](ir::Builder&, ir::NodeId id, bool* changed) -> Expected<Action> {
      Node& node = method.node(id);
      if (node.results.size() != 1 || node.args.empty()) return Action::keep();
      const ir::ValueId* operand = std::get_if<ir::ValueId>(&node.args[arg::view::self]);
      const TensorType* to = method.value(node.results[0]).tensor();
      const TensorType* from = operand == nullptr || !operand->valid() ? nullptr : method.value(*operand).tensor();
      if (to == nullptr || from == nullptr || !to->is_static() || !from->is_static()) return Action::keep();
      if (!to->is_contiguous() || !from->is_contiguous() || !keeps_bytes(node, *from, *to)) return Action::keep();
      remark(options, "canonicalise_views", method, node, "now: view_copy");
      const ir::ValueId source = *operand;
      node.op = &ir::operator_of(OpId::view_copy_out);
      node.args = {source, DimList(to->shape)};
      *changed = true;
      return Action::keep();
    };
  });
}

}  // namespace berth::passes
