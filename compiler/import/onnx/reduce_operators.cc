// Reductions over axes, and the indices of extremes.
#include <algorithm>
#include <cmath>

#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

/// What every reduction is given: the tensor, its axes counted from the front, whether they stay as 1.
struct Reduction {
  ValueId x;
  std::vector<int64_t> axes;
  bool keep = true;
  bool nothing = false;  // no axis at all: the result is the input, element by element
};

/// Axes are an attribute before opset `since`, the second input from then on.
Reduction read_reduction(NodeContext& n, int64_t since) {
  Reduction r;
  r.x = n.input(0);
  r.keep = n.integer("keepdims", 1) != 0;
  std::vector<int64_t> axes;
  if (n.opset() < since) {
    axes = n.integers("axes");
  } else if (n.has_input(1)) {
    axes = n.known_integers(1, "axes");
  }
  if (axes.empty()) {
    r.nothing = n.rank(r.x) == 0 || (n.opset() >= since && n.integer("noop_with_empty_axes", 0) != 0);
    for (int i = 0; i < n.rank(r.x) && !r.nothing; ++i) r.axes.push_back(i);
  } else {
    for (int axis : n.axes(axes, n.rank(r.x))) r.axes.push_back(axis);
  }
  return r;
}

/// The largest number of `dtype`, the smallest with `lowest`: what the extreme of nothing is.
Argument limit(DType dtype, bool lowest) {
  if (is_floating(dtype)) return lowest ? -HUGE_VAL : HUGE_VAL;
  if (dtype == DType::kBool) return Dim(lowest ? 0 : 1);
  const bool is_signed = dtype != DType::kU8 && dtype != DType::kU16 && dtype != DType::kU32 && dtype != DType::kU64;
  const int bits = static_cast<int>(element_size(dtype)) * 8;
  if (!is_signed) return Dim(lowest ? 0 : bits == 64 ? -1 : (int64_t{1} << bits) - 1);  // -1 wraps to the largest
  const int64_t high = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
  return Dim(lowest ? -high - 1 : high);
}

/// The shape that reducing leaves.
std::vector<Dim> reduced_shape(const NodeContext& n, const Reduction& r) {
  std::vector<Dim> shape;
  for (int i = 0; i < n.rank(r.x); ++i) {
    const bool reduced = std::find(r.axes.begin(), r.axes.end(), i) != r.axes.end();
    if (!reduced || r.keep) shape.push_back(reduced ? Dim(1) : n.dim(r.x, i));
  }
  return shape;
}

ValueId sum(NodeContext& n, const Reduction& r, ValueId x) {
  if (r.nothing) return x;
  return n.op(OpId::sum_IntList_out, {x, ir::dims(r.axes), r.keep, Dim(static_cast<int64_t>(n.dtype(x)))});
}

ValueId square(NodeContext& n, ValueId x) { return n.op(OpId::mul_out, {x, x}); }

int64_t axes_since(const NodeContext& n) { return n.node().op_type == "ReduceSum" ? 13 : 18; }

void import_sum(NodeContext& n) {
  const Reduction r = read_reduction(n, axes_since(n));
  n.output(0, sum(n, r, r.x));
}

void import_sum_square(NodeContext& n) {
  const Reduction r = read_reduction(n, axes_since(n));
  n.output(0, sum(n, r, square(n, r.x)));
}

void import_l1(NodeContext& n) {
  const Reduction r = read_reduction(n, axes_since(n));
  n.output(0, sum(n, r, n.op(OpId::abs_out, {r.x})));
}

void import_l2(NodeContext& n) {
  const Reduction r = read_reduction(n, axes_since(n));
  n.output(0, n.cast(n.op(OpId::sqrt_out, {sum(n, r, square(n, r.x))}), n.dtype(r.x)));
}

void import_log_sum(NodeContext& n) {
  const Reduction r = read_reduction(n, axes_since(n));
  n.output(0, n.cast(n.op(OpId::log_out, {sum(n, r, r.x)}), n.dtype(r.x)));
}

// The largest element is taken out first, so that e^x does not overflow; when it is infinite there is nothing to take.
void import_log_sum_exp(NodeContext& n) {
  const Reduction r = read_reduction(n, axes_since(n));
  if (r.nothing) return n.forward(0, 0);
  const DType dtype = n.dtype(r.x);
  if (n.product(n.shape(r.x), 0, n.rank(r.x)) == Dim(0)) {  // the logarithm of no sum
    return n.output(0, n.op(OpId::full_out, {reduced_shape(n, r), -HUGE_VAL, Dim(static_cast<int64_t>(dtype))}));
  }
  const ValueId x = n.cast(r.x, is_floating(dtype) ? dtype : DType::kF32);
  const ValueId largest = n.op(OpId::amax_out, {x, ir::dims(r.axes), true});
  const ValueId shift = n.op(OpId::masked_fill_Scalar_out, {largest, n.op(OpId::isinf_out, {largest}), 0.0});
  Reduction kept = r;
  kept.keep = true;
  const ValueId total = sum(n, kept, n.op(OpId::exp_out, {n.op(OpId::sub_out, {x, shift})}));
  const ValueId result = n.cast(n.op(OpId::add_out, {n.op(OpId::log_out, {total}), shift}), dtype);
  n.output(0, r.keep ? result : n.op(OpId::squeeze_copy_dims_out, {result, ir::dims(r.axes)}));
}

void import_mean(NodeContext& n) {
  const Reduction r = read_reduction(n, axes_since(n));
  if (r.nothing) return n.forward(0, 0);
  if (is_floating(n.dtype(r.x))) return n.output(0, n.op(OpId::mean_out, {r.x, ir::dims(r.axes), r.keep}));
  Dim count(1);
  for (int64_t axis : r.axes) count = n.symbols().mul(count, n.dim(r.x, static_cast<int>(axis)));
  n.output(0, n.op(OpId::div_Scalar_mode_out, {sum(n, r, r.x), count, std::string("trunc")}));
}

void import_prod(NodeContext& n) {
  const Reduction r = read_reduction(n, axes_since(n));
  ValueId x = r.x;
  const Dim dtype(static_cast<int64_t>(n.dtype(x)));
  for (int64_t axis : r.axes) x = n.op(OpId::prod_int_out, {x, Dim(axis), true, dtype});
  if (!r.keep && !r.axes.empty()) x = n.op(OpId::squeeze_copy_dims_out, {x, ir::dims(r.axes)});
  n.output(0, x);
}

template <OpId id>
void import_extreme(NodeContext& n) {
  const Reduction r = read_reduction(n, axes_since(n));
  if (r.nothing) return n.forward(0, 0);
  for (int64_t axis : r.axes) {
    if (n.dim(r.x, static_cast<int>(axis)) != Dim(0)) continue;
    const Argument fill = limit(n.dtype(r.x), id == OpId::amax_out);
    return n.output(0, n.op(OpId::full_out, {reduced_shape(n, r), fill, Dim(static_cast<int64_t>(n.dtype(r.x)))}));
  }
  n.output(0, n.op(id, {r.x, ir::dims(r.axes), r.keep}));
}

// The last of several equal extremes is the first one when the axis is read backwards.
template <OpId id>
void import_argument(NodeContext& n) {
  const ValueId x = n.input(0);
  const int axis = n.axis(n.integer("axis", 0), n.rank(x));
  const bool keep = n.integer("keepdims", 1) != 0;
  if (n.integer("select_last_index", 0) == 0) return n.output(0, n.op(id, {x, Dim(axis), keep}));
  const ValueId backwards = n.op(OpId::flip_out, {x, DimList{Dim(axis)}});
  const Dim last = n.symbols().add(n.dim(x, axis), Dim(-1));
  n.output(0, n.op(OpId::rsub_Scalar_out, {n.op(id, {backwards, Dim(axis), keep}), last}));
}

constexpr OperatorRow kReduceRows[] = {
    {"ArgMax", 1, 1, import_argument<OpId::argmax_out>},
    {"ArgMin", 1, 1, import_argument<OpId::argmin_out>},
    {"ReduceL1", 1, 2, import_l1},
    {"ReduceL2", 1, 2, import_l2},
    {"ReduceLogSum", 1, 2, import_log_sum},
    {"ReduceLogSumExp", 1, 2, import_log_sum_exp},
    {"ReduceMax", 1, 2, import_extreme<OpId::amax_out>},
    {"ReduceMean", 1, 2, import_mean},
    {"ReduceMin", 1, 2, import_extreme<OpId::amin_out>},
    {"ReduceProd", 1, 2, import_prod},
    {"ReduceSum", 1, 2, import_sum},
    {"ReduceSumSquare", 1, 2, import_sum_square},
};

}  // namespace

OperatorTable reduce_operators() { return kReduceRows; }

}  // namespace berth::onnx
