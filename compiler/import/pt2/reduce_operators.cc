// Reductions.
#include <algorithm>
#include <cmath>

#include "compiler/import/pt2/operators.h"
#include "compiler/import/pt2/reduction.h"

namespace berth::pt2 {

Reduction read_reduction(NodeContext& n) {
  Reduction r;
  r.x = n.tensor("self");
  std::vector<int64_t> named = n.integers("dim");
  const int rank = n.rank(r.x);
  if (named.empty()) {
    for (int i = 0; i < rank; ++i) named.push_back(i);
  }
  if (rank > 0) {
    for (int axis : n.axes(named, rank)) r.axes.emplace_back(axis);
  }
  r.keep = n.truth("keepdim", false);
  return r;
}

ValueId sum(NodeContext& n, const Reduction& r, ValueId x, DType type) {
  return n.op(OpId::sum_IntList_out, {x, r.axes, r.keep, number_of(type)});
}

ValueId norm(NodeContext& n, const Reduction& r, double p) {
  const DType type = n.dtype(r.x);
  const ValueId size = n.op(OpId::abs_out, {r.x});
  if (std::isinf(p)) {
    if (n.rank(r.x) == 0) return size;
    return n.op(p > 0 ? OpId::amax_out : OpId::amin_out, {size, r.axes, r.keep});
  }
  if (p == 0) return sum(n, r, n.cast(n.op(OpId::ne_Scalar_out, {r.x, Dim(0)}), type), type);
  if (p == 1) return sum(n, r, size, type);
  if (p == 2) return n.op(OpId::sqrt_out, {sum(n, r, n.op(OpId::mul_out, {r.x, r.x}), type)});
  const ValueId powers = n.op(OpId::pow_Tensor_Scalar_out, {size, p});
  return n.op(OpId::pow_Tensor_Scalar_out, {sum(n, r, powers, type), 1 / p});
}

namespace {

DType sum_type(DType type) { return is_floating(type) || is_complex(type) ? type : DType::kI64; }

void import_sum(NodeContext& n) {
  const Reduction r = read_reduction(n);
  n.output(sum(n, r, r.x, n.dtype("dtype", sum_type(n.dtype(r.x)))));
}

void import_nansum(NodeContext& n) {
  const Reduction r = read_reduction(n);
  const ValueId x = n.op(OpId::masked_fill_Scalar_out, {r.x, n.op(OpId::isnan_out, {r.x}), 0.0});
  n.output(sum(n, r, x, n.dtype("dtype", n.dtype(x))));
}

void import_mean(NodeContext& n) {
  const Reduction r = read_reduction(n);
  n.output(n.op(OpId::mean_out, {r.x, r.axes, r.keep, number_of(n.dtype("dtype", n.dtype(r.x)))}));
}

// Over all elements, or one dimension.
void import_prod(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const Dim type = number_of(n.dtype("dtype", sum_type(n.dtype(x))));
  if (!n.has("dim")) return n.output(n.op(OpId::prod_out, {x, type}));
  n.output(n.op(OpId::prod_int_out, {x, n.dim("dim", Dim(0)), n.truth("keepdim", false), type}));
}

/// 1 for the sample's variance; `unbiased` is the older way to say it.
IrArgument correction(NodeContext& n) {
  if (n.argument("unbiased") != nullptr) return Dim(n.truth("unbiased", true) ? 1 : 0);
  return n.scalar("correction", Dim(1));
}

ValueId variance(NodeContext& n, const Reduction& r) {
  return n.op(OpId::var_correction_out, {r.x, r.axes, correction(n), r.keep});
}

void import_var(NodeContext& n) { n.output(variance(n, read_reduction(n))); }
void import_std(NodeContext& n) { n.output(n.op(OpId::sqrt_out, {variance(n, read_reduction(n))})); }

void import_var_mean(NodeContext& n) {
  const Reduction r = read_reduction(n);
  n.outputs({variance(n, r), n.op(OpId::mean_out, {r.x, r.axes, r.keep})});
}

void import_std_mean(NodeContext& n) {
  const Reduction r = read_reduction(n);
  n.outputs({n.op(OpId::sqrt_out, {variance(n, r)}), n.op(OpId::mean_out, {r.x, r.axes, r.keep})});
}

ValueId any(NodeContext& n, const Reduction& r, ValueId x) {
  if (n.rank(x) == 0) return n.op(OpId::ne_Scalar_out, {x, Dim(0)});
  return n.op(OpId::any_dims_out, {x, r.axes, r.keep});
}

// Bytes stay bytes; everything else gives bools.
ValueId as_truth(NodeContext& n, ValueId x, ValueId truth) {
  return n.dtype(x) == DType::kU8 ? n.cast(truth, DType::kU8) : truth;
}

void import_any(NodeContext& n) {
  const Reduction r = read_reduction(n);
  n.output(as_truth(n, r.x, any(n, r, r.x)));
}

// All are true when none is false.
void import_all(NodeContext& n) {
  const Reduction r = read_reduction(n);
  const ValueId none = any(n, r, n.op(OpId::logical_not_out, {r.x}));
  n.output(as_truth(n, r.x, n.op(OpId::logical_not_out, {none})));
}

template <OpId id>
void import_extreme(NodeContext& n) {
  const Reduction r = read_reduction(n);
  if (n.rank(r.x) == 0) return n.output(r.x);
  n.output(n.op(id, {r.x, r.axes, r.keep}));
}

void import_aminmax(NodeContext& n) {
  const Reduction r = read_reduction(n);
  if (n.rank(r.x) == 0) return n.outputs({r.x, r.x});
  n.outputs({n.op(OpId::amin_out, {r.x, r.axes, r.keep}), n.op(OpId::amax_out, {r.x, r.axes, r.keep})});
}

// The largest is taken out first, so that e^x does not overflow; when it is infinite there is nothing to take.
void import_logsumexp(NodeContext& n) {
  Reduction r = read_reduction(n);
  const bool keep = r.keep;
  const ValueId x = n.cast(r.x, is_floating(n.dtype(r.x)) ? n.dtype(r.x) : DType::kF32);
  if (n.rank(x) == 0) return n.output(x);
  r.keep = true;
  const ValueId largest = n.op(OpId::amax_out, {x, r.axes, true});
  const ValueId shift = n.op(OpId::masked_fill_Scalar_out, {largest, n.op(OpId::isinf_out, {largest}), 0.0});
  const ValueId total = sum(n, r, n.op(OpId::exp_out, {n.op(OpId::sub_out, {x, shift})}), n.dtype(x));
  const ValueId y = n.op(OpId::add_out, {n.op(OpId::log_out, {total}), shift});
  n.output(keep ? y : n.op(OpId::squeeze_copy_dims_out, {y, r.axes}));
}

void import_norm(NodeContext& n, const char* order) {
  Reduction r = read_reduction(n);
  r.x = n.cast(r.x, n.dtype("dtype", is_floating(n.dtype(r.x)) ? n.dtype(r.x) : DType::kF32));
  n.output(norm(n, r, n.number(order, 2)));
}
void import_old_norm(NodeContext& n) { import_norm(n, "p"); }
void import_vector_norm(NodeContext& n) { import_norm(n, "ord"); }

void import_count_nonzero(NodeContext& n) {
  const Reduction r = read_reduction(n);
  n.output(sum(n, r, n.op(OpId::ne_Scalar_out, {r.x, Dim(0)}), DType::kI64));
}

/// All values in order: the largest, or smallest, as many as there are.
std::vector<ValueId> sorted(NodeContext& n) {
  const ValueId x = n.tensor("self");
  if (n.rank(x) == 0) return {x, n.op(OpId::full_like_out, {x, Dim(0), None(), number_of(DType::kI64)})};
  const int axis = n.axis(n.integer("dim", -1), n.rank(x));
  return n.ops(OpId::topk_values, {x, n.dim(x, axis), Dim(axis), n.truth("descending", false), true});
}

void import_sort(NodeContext& n) { n.outputs(sorted(n)); }

void import_argsort(NodeContext& n) {
  const std::vector<ValueId> both = sorted(n);
  if (both.size() == 2) n.output(both[1]);
}

// The lower of the two in the middle.
void import_median(NodeContext& n) {
  ValueId x = n.tensor("self");
  const bool whole = !n.has("dim");
  if (whole) x = n.view(x, {n.product(n.shape(x), 0, n.rank(x))});
  const int axis = n.axis(n.integer("dim", 0), n.rank(x));
  const int64_t size = n.fixed(n.dim(x, axis), "a size whose median is taken");
  if (!n.ok() || size < 1) return n.invalid("no element has a median");
  const std::vector<ValueId> both = n.ops(OpId::topk_values, {x, Dim((size - 1) / 2 + 1), Dim(axis), false, true});
  for (size_t i = 0; i < both.size() && i < n.output_count(); ++i) {
    const Dim last((size - 1) / 2);
    const bool keep = n.truth("keepdim", false);
    n.output(i, keep ? n.slice(both[i], axis, last, Dim(last.value + 1))
                     : n.op(OpId::select_copy_int_out, {both[i], Dim(axis), last}));
  }
}

constexpr OperatorRow kReduceRows[] = {
    {"all", import_all},
    {"amax", import_extreme<OpId::amax_out>},
    {"amin", import_extreme<OpId::amin_out>},
    {"aminmax", import_aminmax},
    {"any", import_any},
    {"argsort", import_argsort},
    {"count_nonzero", import_count_nonzero},
    {"linalg_vector_norm", import_vector_norm},
    {"logsumexp", import_logsumexp},
    {"max.default", import_extreme<OpId::amax_out>},
    {"mean", import_mean},
    {"median", import_median},
    {"min.default", import_extreme<OpId::amin_out>},
    {"nansum", import_nansum},
    {"norm", import_old_norm},
    {"prod", import_prod},
    {"sort", import_sort},
    {"std", import_std},
    {"std_mean", import_std_mean},
    {"sum", import_sum},
    {"var", import_var},
    {"var_mean", import_var_mean},
};

}  // namespace

OperatorTable reduce_operators() { return kReduceRows; }

}  // namespace berth::pt2
