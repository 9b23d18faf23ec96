// Matrix products: MatMul of every rank as mm or bmm, Gemm as addmm.
#include <algorithm>
#include <cmath>

#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

/// [..., k] × [k, n]: all leading dimensions are rows of one matrix.
ValueId times_matrix(NodeContext& n, ValueId a, ValueId b) {
  std::vector<Dim> shape = n.shape(a);
  if (shape.empty()) return {};
  const int rank = static_cast<int>(shape.size());
  const ValueId rows = n.view(a, {n.product(shape, 0, rank - 1), shape.back()});
  shape.back() = n.dim(b, 1);
  return n.view(n.op(OpId::mm_out, {rows, b}), shape);
}

/// The leading dimensions of both, broadcast.
std::vector<Dim> common_batch(NodeContext& n, std::vector<Dim> a, std::vector<Dim> b) {
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
ValueId as_batch(NodeContext& n, ValueId x, const std::vector<Dim>& batch) {
  const std::vector<Dim> shape = n.shape(x);
  if (shape.size() < 2) return {};
  std::vector<Dim> full = batch;
  full.insert(full.end(), shape.end() - 2, shape.end());
  const Dim count = n.product(batch, 0, static_cast<int>(batch.size()));
  return n.view(n.expand(x, full), {count, shape[shape.size() - 2], shape.back()});
}

ValueId batched(NodeContext& n, ValueId a, ValueId b) {
  std::vector<Dim> shape = common_batch(n, n.shape(a), n.shape(b));
  const ValueId product = n.op(OpId::bmm_out, {as_batch(n, a, shape), as_batch(n, b, shape)});
  shape.push_back(n.dim(a, n.rank(a) - 2));
  shape.push_back(n.dim(b, n.rank(b) - 1));
  return n.view(product, shape);
}

// A vector on the left is a row, on the right a column; its dimension goes again at the end.
void import_matmul(NodeContext& n) {
  ValueId a = n.input(0);
  ValueId b = n.input(1);
  const bool row = n.rank(a) == 1;
  const bool column = n.rank(b) == 1;
  if (n.ok() && (n.rank(a) == 0 || n.rank(b) == 0)) return n.invalid("needs at least one dimension in each input");
  if (row) a = n.view(a, {Dim(1), n.dim(a, 0)});
  if (column) b = n.view(b, {n.dim(b, 0), Dim(1)});
  if (!n.ok()) return;
  if (n.dim(a, n.rank(a) - 1) != n.dim(b, n.rank(b) - 2)) {
    return n.invalid("inner dimensions do not fit: " + n.type_text(n.input(0)) + " and " + n.type_text(n.input(1)));
  }
  const ValueId product = n.rank(b) == 2 ? times_matrix(n, a, b) : batched(n, a, b);
  if (!n.ok() || (!row && !column)) return n.output(0, product);
  std::vector<Dim> shape = n.shape(product);
  if (column) shape.pop_back();
  if (row && !shape.empty()) shape.erase(shape.end() - (column ? 1 : 2));
  n.output(0, n.view(product, shape));
}

void import_gemm(NodeContext& n) {
  ValueId a = n.input(0);
  ValueId b = n.input(1);
  const double alpha = n.number("alpha", 1.0);
  const double beta = n.number("beta", 1.0);
  if (n.integer("transA", 0) != 0) a = n.permute(a, {1, 0});
  if (n.integer("transB", 0) != 0) b = n.permute(b, {1, 0});
  // Numbers that are whole stay whole: integer matrices take no float factor.
  const auto scalar = [](double x) {
    return std::abs(x) < 1e9 && x == std::trunc(x) ? Argument(Dim(static_cast<int64_t>(x))) : Argument(x);
  };
  if (!n.has_input(2) || beta == 0) {
    const ValueId product = n.op(OpId::mm_out, {a, b});
    return n.output(0, alpha == 1 ? product : n.op(OpId::mul_Scalar_out, {product, scalar(alpha)}));
  }
  n.output(0, n.op(OpId::addmm_out, {n.input(2), a, b, scalar(beta), scalar(alpha)}));
}

constexpr OperatorRow kRows[] = {
    {"Gemm", 2, 3, import_gemm},
    {"MatMul", 2, 2, import_matmul},
};

}  // namespace

OperatorTable matmul_operators() { return kRows; }

}  // namespace berth::onnx
