// Inverses, determinants, and systems of linear equations, of small matrices.
#include "compiler/import/lowering/elimination.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

/// Dimensions before the last two.
std::vector<Dim> batch_of(NodeContext& n, ValueId x) {
  const std::vector<Dim> shape = n.shape(x);
  return {shape.begin(), shape.end() - (n.ok() ? 2 : 0)};
}

/// `x` [batch…, rows, columns] as [count, rows, columns], whose batch is expanded to `batch`.
ValueId matrices(NodeContext& n, ValueId x, std::vector<Dim> batch) {
  const Dim rows = n.dim(x, -2 + n.rank(x)), columns = n.dim(x, -1 + n.rank(x));
  const Dim count = n.product(batch, 0, static_cast<int>(batch.size()));
  batch.insert(batch.end(), {rows, columns});
  return n.view(n.expand(x, std::move(batch)), {count, rows, columns});
}

/// The square matrices of argument `name`; fails where they are not that.
ValueId square(NodeContext& n, std::string_view name) {
  const ValueId x = n.tensor(name);
  const int rank = n.rank(x);
  if (n.ok() && (rank < 2 || n.dim(x, rank - 1) != n.dim(x, rank - 2) || !is_floating(n.dtype(x)))) {
    n.invalid("expected square matrices of floats, found " + n.type_text(x));
  }
  return n.ok() ? x : ValueId();
}

// Results behind the first: factors, pivots, whether it is singular.
void output_first(NodeContext& n, ValueId y) {
  n.output(y);
  for (size_t i = 1; i < n.output_count(); ++i) n.unknown_output(i, "is what the factorisation leaves");
}

void inverse(NodeContext& n, std::string_view name) {
  const ValueId x = square(n, name);
  if (n.ok()) output_first(n, n.view(lowering::inverse(n, matrices(n, x, batch_of(n, x))), n.shape(x)));
}

void import_inverse(NodeContext& n) { inverse(n, "self"); }
void import_linalg_inv(NodeContext& n) { inverse(n, "A"); }

void determinant(NodeContext& n, std::string_view name) {
  const ValueId x = square(n, name);
  if (!n.ok()) return;
  const std::vector<Dim> batch = batch_of(n, x);
  output_first(n, n.view(lowering::determinant(n, matrices(n, x, batch)), batch));
}

void import_det(NodeContext& n) { determinant(n, "self"); }
void import_linalg_det(NodeContext& n) { determinant(n, "A"); }

/// The batch that `a` and `b` are both expanded to; a size that is not 1 on either side must be that of the other.
std::vector<Dim> common_batch(std::vector<Dim> a, std::vector<Dim> b) {
  if (a.size() < b.size()) std::swap(a, b);
  for (size_t i = 0; i < b.size(); ++i) {
    Dim& of_a = a[a.size() - b.size() + i];
    if (of_a == Dim(1)) of_a = b[i];
  }
  return a;
}

/// [..., i, j] → [..., j, i].
ValueId turned(NodeContext& n, ValueId x) {
  std::vector<int64_t> order;
  for (int i = 0; i < n.rank(x); ++i) order.push_back(i);
  if (n.ok()) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return n.permute(x, order);
}

// A vector, or one for each of the matrices, is a matrix of one column.
void import_solve(NodeContext& n) {
  ValueId a = square(n, "A");
  ValueId b = n.tensor("B");
  const bool left = n.truth("left", true);
  if (!n.ok()) return;
  std::vector<Dim> each = n.shape(a);
  each.pop_back();
  const bool vector = n.rank(b) == 1 || n.shape(b) == each;
  if (vector) {
    each = n.shape(b);
    each.emplace_back(1);
    b = n.view(b, each);
  }
  if (!left && !vector) {
    a = turned(n, a);
    b = turned(n, b);
  }
  if (n.ok() && (n.rank(b) < 2 || n.dim(b, n.rank(b) - 2) != n.dim(a, n.rank(a) - 1))) {
    return n.invalid("the matrices " + n.type_text(a) + " do not fit the right side " + n.type_text(b));
  }
  std::vector<Dim> batch = common_batch(batch_of(n, a), batch_of(n, b));
  const ValueId solution = lowering::solved(n, matrices(n, a, batch), matrices(n, b, batch));
  if (!n.ok()) return;
  batch.push_back(n.dim(b, n.rank(b) - 2));
  if (!vector) batch.push_back(n.dim(b, n.rank(b) - 1));
  const ValueId y = n.view(solution, batch);
  output_first(n, left || vector ? y : turned(n, y));
}

constexpr OperatorRow kSystemRows[] = {
    {"_linalg_det", import_linalg_det},   {"_linalg_solve_ex", import_solve}, {"det", import_det},
    {"inverse", import_inverse},          {"linalg_det", import_linalg_det},  {"linalg_inv", import_linalg_inv},
    {"linalg_inv_ex", import_linalg_inv}, {"linalg_solve", import_solve},     {"linalg_solve_ex", import_solve},
};

}  // namespace

OperatorTable system_operators() { return kSystemRows; }

}  // namespace berth::pt2
