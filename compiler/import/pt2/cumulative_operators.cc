// Running products, extremes and sums of exponentials; reductions by index, and histograms.
//
// A running result of n elements takes log2(n) steps: after the first, an element holds that of the last two, then of
// the last four, and so on.
#include <cmath>
#include <limits>

#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

/// `x` moved by `count` places along `axis`; `neutral` comes in at the front.
ValueId shifted(NodeContext& n, ValueId x, int axis, int64_t count, const IrArgument& neutral) {
  DimList pads(2 * (n.rank(x) - axis), Dim(0));  // from the last dimension to `axis`, begin and end of each
  pads[pads.size() - 2] = Dim(count);
  const Dim length = n.dim(x, axis);
  return n.slice(n.op(OpId::constant_pad_nd_out, {x, pads, neutral}), axis, Dim(0), length);
}

template <typename F>
ValueId running(NodeContext& n, ValueId x, int axis, const IrArgument& neutral, F&& combine) {
  if (n.rank(x) == 0) return x;
  const Dim length = n.dim(x, axis);
  for (int64_t reach = 1; n.ok() && reach < n.symbols().upper(length); reach *= 2) {
    x = combine(x, shifted(n, x, axis, reach, neutral));
  }
  return x;
}

int running_axis(NodeContext& n, ValueId x) { return n.axis(n.integer("dim", 0), std::max(n.rank(x), 1)); }

// Whole numbers multiply as i64.
void import_running_product(NodeContext& n) {
  ValueId x = n.tensor("self");
  const bool real = is_floating(n.dtype(x));
  x = n.cast(x, n.dtype("dtype", real ? n.dtype(x) : DType::kI64));
  const IrArgument one = is_floating(n.dtype(x)) ? IrArgument(1.0) : IrArgument(Dim(1));
  const auto product = [&](ValueId a, ValueId b) { return n.op(OpId::mul_out, {a, b}); };
  n.output(running(n, x, running_axis(n, x), one, product));
}

/// What is not above any number of the type, or not below any.
IrArgument extreme(NodeContext& n, DType type, bool lowest) {
  if (is_floating(type)) return lowest ? -HUGE_VAL : HUGE_VAL;
  const auto of = [&](auto limits) {
    return IrArgument(Dim(static_cast<int64_t>(lowest ? limits.lowest() : limits.max())));
  };
  if (type == DType::kI64) return of(std::numeric_limits<int64_t>());
  if (type == DType::kI32) return of(std::numeric_limits<int32_t>());
  if (type == DType::kI16) return of(std::numeric_limits<int16_t>());
  if (type == DType::kI8) return of(std::numeric_limits<int8_t>());
  if (type == DType::kU8) return of(std::numeric_limits<uint8_t>());
  n.unsupported(std::string("is not read for elements of ") + to_string(type));
  return Dim(0);
}

// The values, and where each was seen last: the last place up to here at which the element is the running extreme.
template <bool largest>
void import_running_extreme(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int axis = running_axis(n, x);
  const ValueId values = running(n, x, axis, extreme(n, n.dtype(x), largest), [&](ValueId a, ValueId b) {
    return n.op(largest ? OpId::maximum_out : OpId::minimum_out, {a, b});
  });
  n.output(0, values);
  if (n.output_count() < 2) return;
  if (n.rank(x) == 0) return n.output(1, n.splat(DType::kI64, {}, 0));
  ValueId record = n.op(OpId::eq_Tensor_out, {x, values});
  if (is_floating(n.dtype(x))) record = n.op(OpId::logical_or_out, {record, n.op(OpId::isnan_out, {x})});
  std::vector<Dim> along(n.rank(x), Dim(1));
  along[axis] = n.dim(x, axis);
  const ValueId places = n.op(OpId::arange_start_out, {Dim(0), along[axis], Dim(1), number_of(DType::kI64)});
  const ValueId none = n.splat(DType::kI64, {}, -1);
  const ValueId seen = n.op(OpId::where_self_out, {record, n.view(places, along), none});
  const auto later = [&](ValueId a, ValueId b) { return n.op(OpId::maximum_out, {a, b}); };
  n.output(1, running(n, seen, axis, Dim(-1), later));
}

// log(exp(a) + exp(b)) of each two.
void import_running_log_sum(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(running(n, x, running_axis(n, x), -HUGE_VAL, [&](ValueId a, ValueId b) {
    const ValueId top = n.op(OpId::maximum_out, {a, b});
    ValueId gap = n.op(OpId::neg_out, {n.op(OpId::abs_out, {n.op(OpId::sub_out, {a, b})})});
    gap = n.op(OpId::masked_fill_Scalar_out, {gap, n.op(OpId::isinf_out, {top}), -HUGE_VAL});
    return n.op(OpId::add_out, {top, n.op(OpId::log1p_out, {n.op(OpId::exp_out, {gap})})});
  }));
}

/// `x` with the elements of `source` reduced into the places that `index` names. Means are sums over counts.
ValueId reduced(NodeContext& n, ValueId x, int axis, ValueId index, ValueId source, const std::string& how,
                bool with_self) {
  const auto reduce = [&](ValueId into, ValueId from, const std::string& name, bool self) {
    return n.op(OpId::scatter_reduce_two_out, {into, Dim(axis), index, from, name, self});
  };
  if (how != "mean") return reduce(x, source, how, with_self);
  const DType type = n.dtype(x);
  const auto full = [&](ValueId like, int64_t number) {
    return n.op(OpId::full_like_out, {like, Dim(number), None(), number_of(type)});
  };
  const ValueId counts = reduce(full(x, with_self ? 1 : 0), full(source, 1), "sum", true);
  const ValueId sums = reduce(x, source, "sum", with_self);
  const ValueId least = n.op(OpId::maximum_out, {counts, n.splat(type, {}, 1)});
  if (is_floating(type)) return n.op(OpId::div_out, {sums, least});
  return n.op(OpId::div_out_mode, {sums, least, std::string("floor")});
}

std::string reduction_name(NodeContext& n) {
  const std::string how = n.text("reduce", "sum");
  for (const char* one : {"sum", "prod", "mean", "amax", "amin"}) {
    if (how == one) return how;
  }
  n.unsupported("reduces by \"" + how + "\", which is not one of sum, prod, mean, amax, amin");
  return how;
}

void import_scatter_reduce(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const std::string how = reduction_name(n);
  const int axis = n.axis(n.integer("dim", 0), std::max(n.rank(x), 1));
  const ValueId index = n.tensor("index");
  n.output(reduced(n, x, axis, index, n.cast(n.tensor("src"), n.dtype(x)), how, n.truth("include_self", true)));
}

// Whole rows: the same index for every element of one.
void import_index_reduce(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const std::string how = reduction_name(n);
  const int axis = n.axis(n.integer("dim", 0), n.rank(x));
  const ValueId source = n.cast(n.tensor("source"), n.dtype(x));
  const ValueId index = n.tensor("index");
  if (n.ok() && (n.rank(source) != n.rank(x) || n.rank(index) != 1)) return n.unsupported("needs an index a row");
  std::vector<Dim> along(n.rank(x), Dim(1));
  if (!n.ok() || along.empty()) return;
  along[axis] = n.dim(index, 0);
  const ValueId wide = n.expand(n.view(index, along), n.shape(source));
  n.output(reduced(n, x, axis, wide, source, how, n.truth("include_self", true)));
}

// How many elements lie in each of 'bins' parts of [min, max]; the last part has its end, and what lies outside counts
// nowhere.
void import_histogram(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int64_t bins = n.integer("bins", 100);
  const double low = n.number("min", 0), high = n.number("max", 0);
  constexpr int64_t kMostBins = int64_t{1} << 20;
  if (n.ok() && (bins < 1 || bins > kMostBins)) n.unsupported("of 1 to 2^20 bins");
  if (n.ok() && !(low < high)) n.unsupported("is read with 'min' below 'max'; the range of the data is not taken");
  if (n.ok() && !is_floating(n.dtype(x))) n.invalid("needs floating numbers, found " + n.type_text(x));
  if (!n.ok()) return;
  const ValueId flat = n.view(x, {n.product(n.shape(x), 0, n.rank(x))});
  const ValueId from = n.op(OpId::ge_Scalar_out, {flat, low});
  const ValueId inside = n.op(OpId::logical_and_out, {from, n.op(OpId::le_Scalar_out, {flat, high})});
  ValueId place = n.op(OpId::mul_Scalar_out, {n.op(OpId::sub_Scalar_out, {flat, low}), static_cast<double>(bins)});
  place = n.op(OpId::div_Scalar_out, {place, high - low});
  place = n.op(OpId::masked_fill_Scalar_out, {place, n.op(OpId::logical_not_out, {inside}), 0.0});
  place =
      n.op(OpId::minimum_out, {n.cast(place, DType::kI64), n.splat(DType::kI64, {}, static_cast<double>(bins - 1))});
  const ValueId none = n.op(OpId::full_out, {DimList{Dim(bins)}, Dim(0), number_of(n.dtype(x))});
  n.output(n.op(OpId::scatter_add_out, {none, Dim(0), place, n.cast(inside, n.dtype(x))}));
}

constexpr OperatorRow kCumulativeRows[] = {
    {"cummax", import_running_extreme<true>},  {"cummin", import_running_extreme<false>},
    {"cumprod", import_running_product},       {"histc", import_histogram},
    {"index_reduce", import_index_reduce},     {"logcumsumexp", import_running_log_sum},
    {"scatter_reduce", import_scatter_reduce},
};

}  // namespace

OperatorTable cumulative_operators() { return kCumulativeRows; }

}  // namespace berth::pt2
