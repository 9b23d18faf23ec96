#include "compiler/import/lowering/elimination.h"

#include <utility>

#include "compiler/import/lowering/arithmetic.h"

namespace berth::lowering {
namespace {

/// The size of the square matrices `x` [count, size, size]; 0 after a failure.
int64_t size_of(Lowering& n, ValueId x, int64_t most) {
  const int64_t size = n.fixed(n.dim(x, 1), "the size of a matrix");
  if (n.ok() && (size < 1 || size > most)) {
    n.unsupported("matrices larger than " + std::to_string(most) + " × " + std::to_string(most) + ", or empty ones");
  }
  return n.ok() ? size : 0;
}

/// Rows [count, left, width] whose first column is to become zeros but for one.
struct Pivoted {
  ValueId at;           // [count, 1]: which row has the largest element there
  ValueId pivot;        // [count, 1]: that element
  ValueId row, others;  // [count, 1, width] and [count, left - 1, width]: that row; the first row has taken its place
};

Pivoted pivoted(Lowering& n, ValueId rows) {
  const Dim count = n.dim(rows, 0), left = n.dim(rows, 1), width = n.dim(rows, 2);
  Pivoted p;
  const ValueId column = n.op(OpId::select_copy_int_out, {rows, Dim(2), Dim(0)});
  p.at = n.op(OpId::argmax_out, {n.op(OpId::abs_out, {column}), Dim(1), true});
  p.pivot = n.op(OpId::gather_out, {column, Dim(1), p.at});
  const ValueId place = n.view(p.at, {count, Dim(1), Dim(1)});
  p.row = n.op(OpId::gather_out, {rows, Dim(1), n.expand(place, {count, Dim(1), width})});
  const ValueId numbers =
      n.view(n.op(OpId::arange_start_out, {Dim(0), left, Dim(1), number_of(DType::kI64)}), {left, Dim(1)});
  const ValueId is_pivot = n.op(OpId::eq_Tensor_out, {numbers, place});
  const ValueId swapped = n.op(OpId::where_self_out, {is_pivot, n.slice(rows, 1, 0, 1), rows});
  p.others = n.slice(swapped, 1, 1, left);
  return p;
}

/// `rows` less their first element times `row`, whose first element is 1, without that column.
ValueId without(Lowering& n, ValueId rows, ValueId row) {
  const Dim width = n.dim(rows, 2);
  const ValueId share = mul(n, n.slice(rows, 2, 0, 1), n.slice(row, 2, 1, width));
  return n.op(OpId::sub_out, {n.slice(rows, 2, 1, width), share});
}

}  // namespace

ValueId determinant(Lowering& n, ValueId x) {
  const Dim count = n.dim(x, 0);
  const DType type = n.dtype(x);
  ValueId product;
  for (int64_t left = size_of(n, x, kMaxDeterminant); left > 0 && n.ok(); --left) {
    const Pivoted p = pivoted(n, x);
    const ValueId moved = n.cast(n.op(OpId::ne_Scalar_out, {p.at, Dim(0)}), type);
    const ValueId sign = n.op(OpId::add_Scalar_out, {n.op(OpId::mul_Scalar_out, {moved, -2.0}), 1.0});
    const ValueId factor = mul(n, p.pivot, sign);
    product = product.valid() ? mul(n, product, factor) : factor;
    if (left == 1) break;
    const ValueId zero = n.op(OpId::eq_Scalar_out, {p.pivot, 0.0});
    const ValueId divisor = n.op(OpId::masked_fill_Scalar_out, {p.pivot, zero, 1.0});
    x = without(n, p.others, n.op(OpId::div_out, {p.row, n.view(divisor, {count, Dim(1), Dim(1)})}));
  }
  return product;
}

ValueId solved(Lowering& n, ValueId a, ValueId b) {
  const int64_t size = size_of(n, a, kMaxSystem);
  if (!n.ok()) return {};
  const Dim count = n.dim(a, 0);
  ValueId rows = n.op(OpId::cat_out, {ValueList{a, b}, Dim(2)});  // what is left of A, then B
  for (int64_t done = 0; done < size && n.ok(); ++done) {
    const Pivoted p = pivoted(n, n.slice(rows, 1, Dim(done), Dim(size)));
    const ValueId row = n.op(OpId::div_out, {p.row, n.view(p.pivot, {count, Dim(1), Dim(1)})});
    ValueList parts;
    if (done > 0) parts.push_back(without(n, n.slice(rows, 1, Dim(0), Dim(done)), row));
    parts.push_back(n.slice(row, 2, Dim(1), n.dim(row, 2)));
    if (done + 1 < size) parts.push_back(without(n, p.others, row));
    rows = parts.size() == 1 ? parts[0] : n.op(OpId::cat_out, {parts, Dim(1)});
  }
  return rows;
}

ValueId inverse(Lowering& n, ValueId a) {
  const int64_t size = size_of(n, a, kMaxSystem);
  std::vector<double> identity(size * size, 0);
  for (int64_t i = 0; i < size; ++i) identity[i * size + i] = 1;
  if (!n.ok()) return {};
  const ValueId one = n.view(n.numbers(n.dtype(a), identity, 1, 0), {Dim(1), Dim(size), Dim(size)});
  return solved(n, a, n.expand(one, n.shape(a)));
}

}  // namespace berth::lowering
