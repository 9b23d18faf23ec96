// Distances and quantiles, which run_decompositions() takes apart.
#include <algorithm>
#include <cmath>
#include <string>

#include "compiler/import/pt2/operators.h"
#include "compiler/import/pt2/reduction.h"

namespace berth::pt2 {
namespace {

void import_pairwise_distance(NodeContext& n) {
  const ValueId difference = n.op(OpId::sub_out, {n.tensor("x1"), n.tensor("x2")});
  const ValueId moved = n.op(OpId::add_Scalar_out, {difference, n.number("eps", 1e-6)});
  n.output(norm(n, {moved, {Dim(n.rank(moved) - 1)}, n.truth("keepdim", false)}, n.number("p", 2)));
}

void import_dist(NodeContext& n) {
  const ValueId difference = n.op(OpId::sub_out, {n.tensor("self"), n.tensor("other")});
  const ValueId flat = n.view(difference, {n.product(n.shape(difference), 0, n.rank(difference))});
  n.output(norm(n, {flat, {Dim(0)}, false}, n.number("p", 2)));
}

void import_pdist(NodeContext& n) { n.output(n.op(OpId::pdist_forward_out, {n.tensor("self"), n.number("p", 2)})); }

// NaN counts neither as a number nor as one more.
void import_nanmean(NodeContext& n) {
  Reduction r = read_reduction(n);
  const DType type = n.dtype("dtype", n.dtype(r.x));
  r.x = n.cast(r.x, type);
  const ValueId missing = n.op(OpId::isnan_out, {r.x});
  const ValueId present = n.cast(n.op(OpId::logical_not_out, {missing}), type);
  const ValueId total = sum(n, r, n.op(OpId::masked_fill_Scalar_out, {r.x, missing, 0.0}), type);
  n.output(n.op(OpId::div_out, {total, sum(n, r, present, type)}));
}

/// a + (b - a) w, from the nearer of the two as PyTorch has it: what infinities make of it depends on that.
ValueId between(NodeContext& n, ValueId a, ValueId b, ValueId w) {
  const ValueId step = n.op(OpId::sub_out, {b, a});
  const ValueId from_a = n.op(OpId::add_out, {a, n.op(OpId::mul_out, {step, w})});
  const ValueId rest = n.op(OpId::add_Scalar_out, {n.op(OpId::neg_out, {w}), 1.0});
  const ValueId from_b = n.op(OpId::sub_out, {b, n.op(OpId::mul_out, {step, rest})});
  return n.op(OpId::where_self_out, {n.op(OpId::lt_Scalar_out, {w, 0.5}), from_a, from_b});
}

/// Of `rows`, sorted along their first dimension, what lies at `place` [Q]: [Q, the other dimensions].
ValueId at_places(NodeContext& n, ValueId rows, ValueId place) {
  const std::string how = n.text("interpolation", "linear");
  const auto row = [&](ValueId which) {
    return n.op(OpId::index_select_out, {rows, Dim(0), n.cast(which, DType::kI64)});
  };
  const ValueId below = n.op(OpId::floor_out, {place});
  const ValueId above = n.op(OpId::ceil_out, {place});
  if (how == "lower") return row(below);
  if (how == "higher") return row(above);
  if (how == "nearest") return row(n.op(OpId::round_out, {place}));
  if (how != "linear" && how != "midpoint") n.invalid("interpolation is \"" + how + "\"");
  if (!n.ok()) return {};
  std::vector<Dim> column(n.rank(rows), Dim(1));
  column[0] = n.dim(place, 0);
  const ValueId share = how == "linear" ? n.op(OpId::sub_out, {place, below}) : n.op(OpId::full_like_out, {place, 0.5});
  return between(n, row(below), row(above), n.view(n.cast(share, n.dtype(rows)), column));
}

/// The quantiles `q` [Q] of `x` along `axis`: [Q, the other dimensions].
ValueId quantiles(NodeContext& n, ValueId x, int axis, ValueId q, int64_t size) {
  const std::vector<ValueId> sorted = n.ops(OpId::topk_values, {x, Dim(size), Dim(axis), /*largest=*/false, true});
  if (!n.ok()) return {};
  std::vector<int64_t> order{axis};
  for (int i = 0; i < n.rank(x); ++i) {
    if (i != axis) order.push_back(i);
  }
  const ValueId rows = n.permute(sorted[0], order);
  // In f64: of f32 the place of 0.6 among 11 is 6, as PyTorch has it a little more.
  const ValueId place = n.op(OpId::mul_Scalar_out, {n.cast(q, DType::kF64), static_cast<double>(size - 1)});
  const ValueId y = at_places(n, rows, place);
  // A NaN among the numbers is every quantile of them.
  const ValueId unknown = n.op(OpId::any_dims_out, {n.op(OpId::isnan_out, {rows}), DimList{Dim(0)}, true});
  return n.op(OpId::masked_fill_Scalar_out, {y, unknown, NAN});
}

// One quantile, a number or a tensor of no dimensions, leaves no dimension; several stand in front.
void import_quantile(NodeContext& n) {
  ValueId x = n.tensor("self");
  const ValueId given = n.cast(n.tensor("q", x), n.dtype(x));
  const bool one = n.rank(given) == 0;
  const bool whole = !n.has("dim");
  const int rank = n.rank(x);
  if (whole || rank == 0) x = n.view(x, {n.product(n.shape(x), 0, rank)});
  const int axis = whole ? 0 : n.axis(n.integer("dim", 0), n.rank(x));
  const int64_t size = n.fixed(n.dim(x, axis), "a size whose quantiles are taken");
  if (n.ok() && size < 1) n.invalid("no element has a quantile");
  if (!n.ok()) return;
  std::vector<Dim> shape = n.shape(x);
  shape.erase(shape.begin() + axis);
  if (n.truth("keepdim", false)) {
    shape.insert(shape.begin() + axis, whole ? rank : std::min(rank, 1), Dim(1));
  }
  if (!one) shape.insert(shape.begin(), n.dim(given, 0));
  n.output(n.view(quantiles(n, x, axis, one ? n.view(given, {Dim(1)}) : given, size), shape));
}

constexpr OperatorRow kDistanceRows[] = {
    {"dist", import_dist},   {"nanmean", import_nanmean},   {"pairwise_distance", import_pairwise_distance},
    {"pdist", import_pdist}, {"quantile", import_quantile},
};

}  // namespace

OperatorTable distance_operators() { return kDistanceRows; }

}  // namespace berth::pt2
