// Bags of embeddings: which index lies in which bag is a matrix of ones and zeros, bags × indices.
#include <cmath>

#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

/// 1 where index i lies in bag b, which begins at offset b and ends where the next begins: [bags, indices].
ValueId members(NodeContext& n, ValueId offsets, const Dim& indices, DType type) {
  const ValueId numbers = n.op(OpId::arange_start_out, {Dim(0), indices, Dim(1), number_of(n.dtype(offsets))});
  const ValueId begins = n.op(OpId::unsqueeze_copy_out, {offsets, Dim(1)});
  const ValueId begun = n.cast(n.op(OpId::ge_Tensor_out, {numbers, begins}), type);
  const ValueId next = n.slice(begun, 0, Dim(1), n.dim(begun, 0));
  const ValueId none = n.op(OpId::full_out, {DimList{Dim(1), indices}, Dim(0), number_of(type)});
  return n.op(OpId::sub_out, {begun, n.op(OpId::cat_out, {ValueList{next, none}, Dim(0)}), Dim(1)});
}

// The largest of each bag's rows; 0 where it has none.
ValueId largest(NodeContext& n, ValueId rows, ValueId inside, ValueId counts) {
  const ValueId outside = n.op(OpId::eq_Scalar_out, {n.op(OpId::unsqueeze_copy_out, {inside, Dim(2)}), 0.0});
  const ValueId each = n.op(OpId::unsqueeze_copy_out, {rows, Dim(0)});
  const ValueId masked = n.op(OpId::masked_fill_Scalar_out, {each, outside, -HUGE_VAL});
  const ValueId most = n.op(OpId::amax_out, {masked, DimList{Dim(1)}, false});
  return n.op(OpId::masked_fill_Scalar_out, {most, n.op(OpId::eq_Scalar_out, {counts, 0.0}), 0.0});
}

// The other results are for gradients.
void import_embedding_bag(NodeContext& n) {
  const ValueId weight = n.tensor("weight"), indices = n.tensor("indices");
  ValueId offsets = n.tensor("offsets");
  const int64_t mode = n.integer("mode", 0);
  const int64_t padding = n.has("padding_idx") ? n.integer("padding_idx", -1) : -1;
  if (n.ok() && (n.rank(weight) != 2 || n.rank(indices) != 1 || n.rank(offsets) != 1)) {
    return n.invalid("expected a table of two dimensions, indices and offsets of one");
  }
  if (mode < 0 || mode > 2) return n.invalid("'mode' must be 0, 1 or 2");
  if (n.truth("include_last_offset", false))
    offsets = n.slice(offsets, 0, Dim(0), n.symbols().add(n.dim(offsets, 0), Dim(-1)));
  ValueId inside = members(n, offsets, n.dim(indices, 0), n.dtype(weight));
  if (padding >= 0) {
    const ValueId counts = n.cast(n.op(OpId::ne_Scalar_out, {indices, Dim(padding)}), n.dtype(weight));
    inside = n.op(OpId::mul_out, {inside, counts});
  }
  ValueId rows = n.op(OpId::index_select_out, {weight, Dim(0), indices});
  if (n.has("per_sample_weights")) {
    rows = n.op(OpId::mul_out, {rows, n.op(OpId::unsqueeze_copy_out, {n.tensor("per_sample_weights"), Dim(1)})});
  }
  const ValueId counts = n.op(OpId::sum_IntList_out, {inside, DimList{Dim(1)}, true, None()});
  ValueId bags;
  if (mode == 2) {
    bags = largest(n, rows, inside, counts);
  } else {
    bags = n.op(OpId::mm_out, {inside, rows});
    if (mode == 1) bags = n.op(OpId::div_out, {bags, n.op(OpId::clamp_out, {counts, 1.0, None()})});
  }
  n.output(bags);
  for (size_t i = 1; i < n.output_count(); ++i) n.unknown_output(i, "is only there for gradients");
}

constexpr OperatorRow kEmbeddingRows[] = {
    {"_embedding_bag", import_embedding_bag},
    {"_embedding_bag_forward_only", import_embedding_bag},
    {"embedding_bag", import_embedding_bag},
};

}  // namespace

OperatorTable embedding_operators() { return kEmbeddingRows; }

}  // namespace berth::pt2
