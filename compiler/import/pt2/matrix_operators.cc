// Products and diagonals that run_decompositions() takes apart.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "compiler/import/lowering/einsum.h"
#include "compiler/import/lowering/matmul.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

// a × b along a dimension of size 3: y0 = a1 b2 - a2 b1, and so on in turns.
void cross(NodeContext& n, int axis) {
  const ValueId a = n.tensor("self");
  const ValueId b = n.tensor("other");
  if (n.ok() && n.rank(a) != n.rank(b)) return n.invalid("the tensors differ in rank");
  const auto turned = [&](ValueId x, int64_t places) {
    return n.op(OpId::roll_out, {x, DimList{Dim(places)}, DimList{Dim(axis)}});
  };
  const ValueId ahead = n.op(OpId::mul_out, {turned(a, 2), turned(b, 1)});
  n.output(n.op(OpId::sub_out, {ahead, n.op(OpId::mul_out, {turned(a, 1), turned(b, 2)})}));
}

// Without `dim` the first dimension of size 3.
void import_cross(NodeContext& n) {
  const std::vector<Dim> shape = n.shape(n.tensor("self"));
  const auto three = std::find(shape.begin(), shape.end(), Dim(3));
  if (n.ok() && !n.has("dim") && three == shape.end()) return n.invalid("no dimension has size 3");
  cross(n, n.axis(n.integer("dim", three - shape.begin()), n.rank(n.tensor("self"))));
}

void import_linalg_cross(NodeContext& n) { cross(n, n.axis(n.integer("dim", -1), n.rank(n.tensor("self")))); }

// Each element of a times all of b: [a0 b0, a1 b1, …].
void import_kron(NodeContext& n) {
  const ValueId a = n.tensor("self");
  const ValueId b = n.tensor("other");
  const int rank = std::max(n.rank(a), n.rank(b));
  if (2 * rank > kMaxRank) return n.unsupported("tensors of more than 8 dimensions");
  std::vector<Dim> outer, inner, sizes;
  for (int i = 0; i < rank; ++i) {
    const int missing_a = rank - n.rank(a), missing_b = rank - n.rank(b);
    const Dim size_a = i < missing_a ? Dim(1) : n.dim(a, i - missing_a);
    const Dim size_b = i < missing_b ? Dim(1) : n.dim(b, i - missing_b);
    outer.insert(outer.end(), {size_a, Dim(1)});
    inner.insert(inner.end(), {Dim(1), size_b});
    sizes.push_back(n.symbols().mul(size_a, size_b));
  }
  n.output(n.view(n.op(OpId::mul_out, {n.view(a, outer), n.view(b, inner)}), sizes));
}

/// Sums over dimensions `of_a` of a and `of_b` of b, pair by pair; the others stand in order, those of a first.
ValueId contracted(NodeContext& n, ValueId a, ValueId b, const std::vector<int>& of_a, const std::vector<int>& of_b) {
  if (n.ok() && of_a.size() != of_b.size()) n.invalid("the lists of dimensions differ in length");
  if (n.ok() && n.rank(a) + n.rank(b) > 26) n.unsupported("tensors of more than 26 dimensions together");
  if (!n.ok()) return {};
  std::string first(n.rank(a), ' '), second(n.rank(b), ' '), result;
  char label = 'a';
  for (size_t i = 0; i < of_a.size(); ++i) first[of_a[i]] = second[of_b[i]] = label++;
  for (std::string* labels : {&first, &second}) {
    for (char& free : *labels) {
      if (free == ' ') result += free = label++;
    }
  }
  return lowering::einsum(n, first + "," + second + "->" + result, {a, b});
}

void import_tensordot(NodeContext& n) {
  const ValueId a = n.tensor("self");
  const ValueId b = n.tensor("other");
  n.output(
      contracted(n, a, b, n.axes(n.integers("dims_self"), n.rank(a)), n.axes(n.integers("dims_other"), n.rank(b))));
}

void import_inner(NodeContext& n) {
  const ValueId a = n.tensor("self");
  const ValueId b = n.tensor("other");
  if (n.rank(a) == 0 || n.rank(b) == 0) return n.output(n.op(OpId::mul_out, {a, b}));
  n.output(contracted(n, a, b, {n.rank(a) - 1}, {n.rank(b) - 1}));
}

void import_multi_dot(NodeContext& n) {
  ValueId product;
  for (ValueId x : n.tensors("tensors")) product = product.valid() ? lowering::matmul(n, product, x) : x;
  n.output(product);
}

void import_matrix_power(NodeContext& n) {
  ValueId square = n.tensor("self");
  int64_t power = n.integer("n", 1);
  if (n.ok() && power < 1) return n.unsupported("a power below 1");
  ValueId result;
  for (; n.ok() && power > 0; power /= 2) {
    if (power % 2 == 1) result = result.valid() ? lowering::matmul(n, result, square) : square;
    if (power > 1) square = lowering::matmul(n, square, square);
  }
  n.output(result);
}

void import_trace(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const DType type = is_floating(n.dtype(x)) ? n.dtype(x) : DType::kI64;
  const ValueId diagonal = n.op(OpId::diagonal_copy_out, {x});
  n.output(n.op(OpId::sum_IntList_out, {diagonal, DimList{Dim(0)}, false, number_of(type)}));
}

/// [..., k] → [..., m, m] with x on the diagonal that lies `offset` to the right of the main one, zeros elsewhere.
ValueId on_diagonal(NodeContext& n, ValueId x, int64_t offset) {
  if (n.ok() && (n.rank(x) < 1 || offset > INT32_MAX || offset < -INT32_MAX)) n.invalid("not a diagonal");
  if (!n.ok()) return {};
  const IrArgument zero = is_floating(n.dtype(x)) ? IrArgument(0.0) : IrArgument(Dim(0));
  const DimList pad{Dim(std::max<int64_t>(offset, 0)), Dim(std::max<int64_t>(-offset, 0))};
  if (offset != 0) x = n.op(OpId::constant_pad_nd_out, {x, pad, zero});
  if (!n.ok()) return {};
  std::vector<Dim> shape = n.shape(x);
  const Dim size = shape.back();
  shape.insert(shape.end() - 1, Dim(1));
  const ValueId row = n.view(x, shape);
  shape[shape.size() - 2] = size;
  const ValueId rows = n.expand(row, shape);
  const ValueId all = n.op(OpId::full_out, {DimList{size, size}, Dim(1), number_of(DType::kBool)});
  const ValueId right = n.op(OpId::logical_not_out, {n.op(OpId::tril_out, {all, Dim(offset)})});
  const ValueId left = n.op(OpId::tril_out, {all, Dim(offset - 1)});
  return n.op(OpId::masked_fill_Scalar_out, {rows, n.op(OpId::logical_or_out, {left, right}), zero});
}

void import_diag(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int64_t offset = n.integer("diagonal", 0);
  n.output(n.rank(x) == 1 ? on_diagonal(n, x, offset) : n.op(OpId::diagonal_copy_out, {x, Dim(offset)}));
}

void import_diag_embed(NodeContext& n) {
  const ValueId y = on_diagonal(n, n.tensor("self"), n.integer("offset", 0));
  const int rank = n.rank(y);
  const std::vector<int> place = n.axes({n.integer("dim1", -2), n.integer("dim2", -1)}, rank);
  if (!n.ok()) return;
  std::vector<int64_t> order(rank, -1);
  order[place[0]] = rank - 2;
  order[place[1]] = rank - 1;
  int64_t next = 0;
  for (int64_t& from : order) {
    if (from < 0) from = next++;
  }
  n.output(n.permute(y, order));
}

// Each matrix beside zeros, one below the other.
void import_block_diag(NodeContext& n) {
  std::vector<ValueId> blocks;
  Dim width(0);
  for (ValueId x : n.tensors("tensors")) {
    blocks.push_back(n.pad_rank(x, 2));
    width = n.symbols().add(width, n.dim(blocks.back(), 1));
  }
  ValueList rows;
  Dim left(0);
  for (ValueId block : blocks) {
    const Dim end = n.symbols().add(left, n.dim(block, 1));
    const IrArgument zero = is_floating(n.dtype(block)) ? IrArgument(0.0) : IrArgument(Dim(0));
    const int64_t before = n.fixed(left, "the width of a block");
    const int64_t after = n.fixed(width, "the width of a block") - n.fixed(end, "the width of a block");
    rows.push_back(n.op(OpId::constant_pad_nd_out, {block, DimList{Dim(before), Dim(after)}, zero}));
    left = end;
  }
  n.output(n.op(OpId::cat_out, {rows, Dim(0)}));
}

constexpr OperatorRow kMatrixRows[] = {
    {"block_diag", import_block_diag},
    {"cross", import_cross},
    {"diag", import_diag},
    {"diag_embed", import_diag_embed},
    {"inner", import_inner},
    {"kron", import_kron},
    {"linalg_cross", import_linalg_cross},
    {"linalg_matrix_power", import_matrix_power},
    {"linalg_multi_dot", import_multi_dot},
    {"matrix_power", import_matrix_power},
    {"tensordot", import_tensordot},
    {"trace", import_trace},
};

}  // namespace

OperatorTable matrix_operators() { return kMatrixRows; }

}  // namespace berth::pt2
