#include "compiler/import/lowering/matmul.h"

#include <algorithm>

namespace berth::lowering {
namespace {

/// [..., k] × [k, n]: all leading dimensions are rows of one matrix.
ValueId times_matrix(Lowering& n, ValueId a, ValueId b) {
  std::vector<Dim> shape = n.shape(a);
  if (shape.empty()) return {};
  const int rank = static_cast<int>(shape.size());
  const ValueId rows = n.view(a, {n.product(shape, 0, rank - 1), shape.back()});
  shape.back() = n.dim(b, 1);
  return n.view(n.op(OpId::mm_out, {rows, b}), shape);
}

/// The leading dimensions of both, broadcast.
std::vector<Dim> common_batch(Lowering& n, std::vector<Dim> a, std::vector<Dim> b) {
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  if (a.size() < b.size()) std::swap(a, b);
  const size_t missing = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    Dim& wide = a[missing + i];
    if (wide == Dim(1)) {
      wide = b[i];
    } else if (b[i] != Dim(1) && b[i] != wide) {
      n.invalid("leading dimensions " + n.symbols().text(wide) + " and " + n.symbols().text(b[i]) + " do not fit");
    }
  }
  return a;
}

/// `x` with leading dimensions `batch` in one: [product of batch, rows, columns].
ValueId as_batch(Lowering& n, ValueId x, const std::vector<Dim>& batch) {
  const std::vector<Dim> shape = n.shape(x);
  if (shape.size() < 2) return {};
  std::vector<Dim> full = batch;
  full.insert(full.end(), shape.end() - 2, shape.end());
  const Dim count = n.product(batch, 0, static_cast<int>(batch.size()));
  return n.view(n.expand(x, full), {count, shape[shape.size() - 2], shape.back()});
}

ValueId batched(Lowering& n, ValueId a, ValueId b) {
  std::vector<Dim> shape = common_batch(n, n.shape(a), n.shape(b));
  const ValueId product = n.op(OpId::bmm_out, {as_batch(n, a, shape), as_batch(n, b, shape)});
  shape.push_back(n.dim(a, n.rank(a) - 2));
  shape.push_back(n.dim(b, n.rank(b) - 1));
  return n.view(product, shape);
}

}  // namespace

ValueId matmul(Lowering& n, ValueId a, ValueId b) {
  const ValueId left = a;
  const ValueId right = b;
  const bool row = n.rank(a) == 1;
  const bool column = n.rank(b) == 1;
  if (n.ok() && (n.rank(a) == 0 || n.rank(b) == 0)) n.invalid("needs at least one dimension in each input");
  if (row) a = n.view(a, {Dim(1), n.dim(a, 0)});
  if (column) b = n.view(b, {n.dim(b, 0), Dim(1)});
  if (!n.ok()) return {};
  if (n.dim(a, n.rank(a) - 1) != n.dim(b, n.rank(b) - 2)) {
    n.invalid("inner dimensions do not fit: " + n.type_text(left) + " and " + n.type_text(right));
    return {};
  }
  const ValueId product = n.rank(b) == 2 ? times_matrix(n, a, b) : batched(n, a, b);
  if (!n.ok() || (!row && !column)) return product;
  std::vector<Dim> shape = n.shape(product);
  if (column) shape.pop_back();
  if (row && !shape.empty()) shape.erase(shape.end() - (column ? 1 : 2));
  return n.view(product, shape);
}

ValueId linear(Lowering& n, ValueId x, ValueId weight, const Argument& bias) {
  if (n.rank(weight) != 2) return matmul(n, x, weight);
  const ValueId transposed = n.permute(weight, {1, 0});
  if (ir::is_none(bias)) return matmul(n, x, transposed);
  std::vector<Dim> shape = n.shape(x);
  if (shape.empty()) n.invalid("needs at least one dimension in its input");
  if (!n.ok()) return {};
  const int rank = static_cast<int>(shape.size());
  const ValueId rows = n.view(x, {n.product(shape, 0, rank - 1), shape.back()});
  shape.back() = n.dim(weight, 0);
  return n.view(n.op(OpId::addmm_out, {bias, rows, transposed}), shape);
}

}  // namespace berth::lowering
