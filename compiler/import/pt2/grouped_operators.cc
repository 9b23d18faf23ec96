// Grouped matrix products: what the experts of mixtures become when their tokens are sorted by expert.
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

/// `rest` with rows [begin, end) replaced by those of `input` times `matrix`; a branch that is not taken when there are
/// none.
ValueId with_group(NodeContext& n, ValueId rest, ValueId input, ValueId matrix, ValueId begin, ValueId end) {
  const ValueId any = n.op(OpId::lt_Tensor_out, {begin, end});
  if (!n.ok()) return {};
  std::vector<ir::Graph> branches(2);
  n.inside(branches[0], [&] {
    const Dim rows = n.dim(input, 0);
    const ValueId row = n.op(OpId::arange_start_out, {Dim(0), rows, Dim(1), number_of(n.dtype(begin))});
    const ValueId from = n.op(OpId::ge_Tensor_out, {row, begin});
    const ValueId inside = n.op(OpId::logical_and_out, {from, n.op(OpId::lt_Tensor_out, {row, end})});
    const ValueId product = n.op(OpId::mm_out, {input, matrix});
    branches[0].outputs = {n.op(OpId::where_self_out, {n.view(inside, {rows, Dim(1)}), product, rest})};
  });
  n.inside(branches[1], [&] { branches[1].outputs = {n.op(OpId::clone_out, {rest})}; });
  if (!n.ok()) return {};
  ir::Type type = n.builder().method().value(rest).type;
  const std::vector<ValueId> results = n.control(OpId::if_, {any}, std::move(branches), {std::move(type)});
  return results.empty() ? ValueId() : results[0];
}

// Rows up to offs[0] are multiplied by the first matrix, from there up to offs[1] by the second; rows behind the last
// are zero.
void import_grouped_product(NodeContext& n) {
  const ValueId input = n.tensor(n.argument("input") != nullptr ? "input" : "self");
  const ValueId weight = n.tensor(n.argument("weight") != nullptr ? "weight" : "mat2");
  if (n.ok() && (n.rank(input) != 2 || n.rank(weight) != 3 || !n.has("offs") || n.has("bias"))) {
    return n.unsupported(
        "is read for rows that are sorted by group ('offs') and a matrix a group, without bias; found " +
        n.type_text(input) + " and " + n.type_text(weight));
  }
  const ValueId ends = n.tensor("offs");
  const int64_t groups = n.fixed(n.dim(weight, 0), "the number of groups");
  constexpr int64_t kMostGroups = 1024;
  if (n.ok() && (n.rank(ends) != 1 || n.dim(ends, 0) != Dim(groups))) n.invalid("'offs' must have an element a group");
  if (n.ok() && (groups < 1 || groups > kMostGroups)) n.unsupported("is read for 1 to 1024 groups");
  if (!n.ok()) return;
  const DType type = n.dtype(input);
  ValueId y = n.op(OpId::full_out, {DimList{n.dim(input, 0), n.dim(weight, 2)}, Dim(0), number_of(type)});
  ValueId begin = n.splat(n.dtype(ends), {}, 0);
  for (int64_t g = 0; g < groups && n.ok(); ++g) {
    const ValueId matrix = n.op(OpId::select_copy_int_out, {weight, Dim(0), Dim(g)});
    const ValueId end = n.op(OpId::select_copy_int_out, {ends, Dim(0), Dim(g)});
    y = with_group(n, y, input, matrix, begin, end);
    begin = end;
  }
  n.output(n.cast(y, n.dtype("out_dtype", type)));
}

constexpr OperatorRow kGroupedRows[] = {
    {"_grouped_mm", import_grouped_product},
    {"transformers::grouped_mm_fallback", import_grouped_product},
};

}  // namespace

OperatorTable grouped_operators() { return kGroupedRows; }

}  // namespace berth::pt2
