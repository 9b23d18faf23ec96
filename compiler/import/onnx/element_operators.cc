// Operators that pick, place or order single elements: CumSum, GatherElements, GatherND, OneHot, ScatterElements,
// ScatterND, TopK, Trilu.
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

Dim dtype_argument(DType dtype) { return Dim(static_cast<int64_t>(dtype)); }

// Indices counted from the front, as i64: ONNX allows negative ones, ExecuTorch's gather and scatter do not.
ValueId from_front(NodeContext& n, ValueId indices, Dim size) {
  indices = n.cast(indices, DType::kI64);
  const ValueId negative = n.op(OpId::lt_Scalar_out, {indices, Dim(0)});
  const ValueId shifted = n.op(OpId::add_Scalar_out, {indices, size});
  return n.op(OpId::where_self_out, {negative, shifted, indices});
}

// The same, without a node when all indices are known to be from the front.
ValueId index_input(NodeContext& n, size_t input, Dim size) {
  const std::optional<Known> known = n.known(input);
  bool plain = known.has_value() && known->is_constant();
  if (plain) {
    for (const Number& number : known->elements) plain = plain && number.whole.value >= 0;
  }
  return plain ? n.cast(n.input(input), DType::kI64) : from_front(n, n.input(input), size);
}

void import_cum_sum(NodeContext& n) {
  ValueId x = n.input(0);
  const int axis = n.axis(n.known_integer(1, "axis"), n.rank(x));
  if (!n.ok()) return;
  const bool reverse = n.integer("reverse", 0) != 0;
  if (reverse) x = n.op(OpId::flip_out, {x, DimList{Dim(axis)}});
  if (n.integer("exclusive", 0) != 0) {
    // Shifted by one instead of subtracted afterwards, so that infinities stay what they are. Padded first: an axis of
    // size 0 keeps it.
    const Dim length = n.dim(x, axis);
    DimList pad(2 * (n.rank(x) - axis), Dim(0));
    pad[pad.size() - 2] = Dim(1);
    const ValueId padded = n.op(OpId::constant_pad_nd_out, {x, pad, Dim(0)});
    x = n.slice(padded, axis, 0, length);
  }
  ValueId sum = n.op(OpId::cumsum_out, {x, Dim(axis), dtype_argument(n.dtype(x))});
  if (reverse) sum = n.op(OpId::flip_out, {sum, DimList{Dim(axis)}});
  n.output(0, sum);
}

// Products of the last 2, 4, 8 … elements, until they reach the first.
void import_cum_prod(NodeContext& n) {
  ValueId x = n.input(0);
  const int axis = n.axis(n.known_integer(1, "axis"), n.rank(x));
  if (!n.ok()) return;
  const Dim length = n.dim(x, axis);
  const bool whole = !is_floating(n.dtype(x));
  const auto behind_ones = [&](ValueId v, int64_t count) {
    DimList pad(2 * (n.rank(v) - axis), Dim(0));
    pad[pad.size() - 2] = Dim(count);
    return n.op(OpId::constant_pad_nd_out, {v, pad, whole ? Argument(Dim(1)) : Argument(1.0)});
  };
  const auto shifted = [&](ValueId v, int64_t count) { return n.slice(behind_ones(v, count), axis, 0, length); };
  const bool reverse = n.integer("reverse", 0) != 0;
  if (reverse) x = n.op(OpId::flip_out, {x, DimList{Dim(axis)}});
  if (n.integer("exclusive", 0) != 0) x = shifted(x, 1);
  for (int64_t reach = 1; n.ok() && reach < n.symbols().upper(length); reach *= 2) {
    x = n.op(OpId::mul_out, {x, shifted(x, reach)});
  }
  if (reverse) x = n.op(OpId::flip_out, {x, DimList{Dim(axis)}});
  n.output(0, x);
}

void import_gather_elements(NodeContext& n) {
  const ValueId x = n.input(0);
  const int axis = n.axis(n.integer("axis", 0), n.rank(x));
  n.output(0, n.op(OpId::gather_out, {x, Dim(axis), index_input(n, 1, n.dim(x, axis))}));
}

// Columns of an index tensor [..., q] as q tensors [...].
ValueList index_columns(NodeContext& n, ValueId indices) {
  const int last = n.rank(indices) - 1;
  const int64_t columns = n.fixed(n.dim(indices, last), "the last dimension of the indices");
  ValueList list;
  for (int64_t k = 0; k < columns && n.ok(); ++k) {
    list.push_back(n.op(OpId::select_copy_int_out, {indices, Dim(last), Dim(k)}));
  }
  return list;
}

// With batch dimensions: they become one, whose own number is the first index.
void import_gather_nd(NodeContext& n) {
  ValueId data = n.input(0);
  ValueId indices = n.cast(n.input(1), DType::kI64);
  const int64_t batch_dims = n.opset() >= 12 ? n.integer("batch_dims", 0) : 0;
  if (!n.ok()) return;
  if (n.rank(indices) < 1 || batch_dims < 0 || batch_dims >= n.rank(indices) || batch_dims >= n.rank(data)) {
    return n.invalid("batch_dims and the ranks of data and indices do not fit");
  }
  if (batch_dims == 0) {
    n.output(0, n.op(OpId::index_Tensor_out, {data, index_columns(n, indices)}));
    return;
  }
  const int b = static_cast<int>(batch_dims);
  const std::vector<Dim> data_shape = n.shape(data);
  const std::vector<Dim> index_shape = n.shape(indices);
  const Dim count = n.product(data_shape, 0, b);
  const auto flat = [&](ValueId v, const std::vector<Dim>& shape) {
    std::vector<Dim> size = {count};
    size.insert(size.end(), shape.begin() + b, shape.end());
    return n.view(v, size);
  };
  data = flat(data, data_shape);
  ValueList columns = index_columns(n, flat(indices, index_shape));
  std::vector<Dim> ones(index_shape.size() - b, Dim(1));
  ones[0] = count;
  ValueId numbers = n.op(OpId::arange_start_out, {Dim(0), count, Dim(1), dtype_argument(DType::kI64)});
  columns.insert(columns.begin(), n.view(numbers, ones));
  const ValueId picked = n.op(OpId::index_Tensor_out, {data, columns});
  std::vector<Dim> size(data_shape.begin(), data_shape.begin() + b);
  const std::vector<Dim> rest = n.shape(picked);
  if (!rest.empty()) size.insert(size.end(), rest.begin() + 1, rest.end());
  n.output(0, n.view(picked, size));
}

// What becomes of elements that meet in one place: nothing, "sum", "prod", "amax" or "amin" of ATen's.
std::string reduction_of(NodeContext& n, int64_t since) {
  const std::string reduction = n.opset() >= since ? n.text("reduction", "none") : "none";
  if (reduction == "none") return "";
  if (reduction == "add") return "sum";
  if (reduction == "mul") return "prod";
  if (reduction == "max") return "amax";
  if (reduction == "min") return "amin";
  n.invalid("attribute 'reduction' is \"" + reduction + "\"");
  return "";
}

void import_scatter_elements(NodeContext& n) {
  const ValueId x = n.input(0);
  const int axis = n.axis(n.integer("axis", 0), n.rank(x));
  const std::string reduction = reduction_of(n, 16);
  std::vector<Argument> args = {x, Dim(axis), index_input(n, 1, n.dim(x, axis)), n.input(2)};
  if (reduction.empty()) return n.output(0, n.op(OpId::scatter_src_out, std::move(args)));
  if (reduction == "sum") return n.output(0, n.op(OpId::scatter_add_out, std::move(args)));
  args.emplace_back(reduction);
  n.output(0, n.op(OpId::scatter_reduce_two_out, std::move(args)));
}

// Products and extremes: over rows that one number names, each as long as what an index picks.
ValueId scatter_rows(NodeContext& n, ValueId x, ValueId indices, ValueId updates, const std::string& reduction) {
  const std::vector<Dim> shape = n.shape(x);
  const ValueList columns = index_columns(n, indices);
  const int depth = static_cast<int>(columns.size());
  if (n.ok() && depth > n.rank(x)) n.invalid("the indices name more dimensions than " + n.type_text(x) + " has");
  if (!n.ok()) return {};
  ValueId row;
  for (int k = 0; k < depth; ++k) {
    const ValueId place = from_front(n, columns[k], shape[k]);
    row = row.valid() ? n.op(OpId::add_out, {n.op(OpId::mul_Scalar_out, {row, shape[k]}), place}) : place;
  }
  const Dim count = n.product(shape, 0, depth);
  const Dim width = n.product(shape, depth, n.rank(x));
  const Dim picked = n.product(n.shape(indices), 0, n.rank(indices) - 1);
  row = row.valid() ? n.view(row, {picked, Dim(1)})
                    : n.op(OpId::full_out, {DimList{picked, Dim(1)}, Dim(0), dtype_argument(DType::kI64)});
  const ValueId table = n.view(x, {count, width});
  const ValueId source = n.view(updates, {picked, width});
  const ValueId y =
      n.op(OpId::scatter_reduce_two_out, {table, Dim(0), n.expand(row, {picked, width}), source, reduction});
  return n.view(y, shape);
}

void import_scatter_nd(NodeContext& n) {
  const ValueId indices = n.cast(n.input(1), DType::kI64);
  const std::string reduction = reduction_of(n, 16);
  if (!reduction.empty() && reduction != "sum") {
    return n.output(0, scatter_rows(n, n.input(0), indices, n.input(2), reduction));
  }
  n.output(0, n.op(OpId::index_put_out, {n.input(0), index_columns(n, indices), n.input(2), reduction == "sum"}));
}

void import_one_hot(NodeContext& n) {
  ValueId indices = n.input(0);
  const DType type = n.dtype(indices);
  const int64_t depth = n.known_integer(1, "depth");
  if (n.ok() && (depth < 1 || depth > (int64_t{1} << 24))) n.invalid("depth must be from 1 to 2^24");
  const ValueId values = n.input(2);
  const int axis = n.axis(n.integer("axis", -1), n.rank(indices) + 1);
  if (!n.ok()) return;
  if (is_floating(type)) indices = n.cast(indices, DType::kI64);
  indices = from_front(n, indices, Dim(depth));
  if (!n.ok()) return;
  std::vector<Dim> with_axis = n.shape(indices);
  with_axis.insert(with_axis.begin() + axis, Dim(1));
  std::vector<Dim> along(with_axis.size(), Dim(1));
  along[axis] = Dim(depth);
  ValueId classes = n.op(OpId::arange_start_out, {Dim(0), Dim(depth), Dim(1), dtype_argument(DType::kI64)});
  const ValueId hit = n.op(OpId::eq_Tensor_out, {n.view(indices, with_axis), n.view(classes, along)});
  const ValueId off = n.op(OpId::select_copy_int_out, {values, Dim(0), Dim(0)});
  const ValueId on = n.op(OpId::select_copy_int_out, {values, Dim(0), Dim(1)});
  n.output(0, n.op(OpId::where_self_out, {hit, on, off}));
}

void import_top_k(NodeContext& n) {
  const ValueId x = n.input(0);
  const int axis = n.axis(n.integer("axis", -1), n.rank(x));
  Dim k(n.integer("k", -1));
  if (n.opset() >= 10) {
    const DimList dims = n.known_dims(1, "K");
    if (!n.ok()) return;
    if (dims.size() != 1) return n.invalid("K must have one element");
    k = dims[0];
  }
  const bool largest = n.opset() < 11 || n.integer("largest", 1) != 0;
  const bool sorted = n.opset() < 11 || n.integer("sorted", 1) != 0;
  const std::vector<ValueId> results = n.ops(OpId::topk_values, {x, k, Dim(axis), largest, sorted});
  if (!n.ok()) return;
  n.output(0, results[0]);
  n.output(1, results[1]);
}

// The upper triangle: there is no such operator in the portable library, so by comparing row and column.
ValueId upper_triangle(NodeContext& n, ValueId x, Dim k) {
  const int rank = n.rank(x);
  const ValueId rows =
      n.op(OpId::arange_start_out, {k, n.symbols().add(n.dim(x, rank - 2), k), Dim(1), dtype_argument(DType::kI64)});
  const ValueId columns =
      n.op(OpId::arange_start_out, {Dim(0), n.dim(x, rank - 1), Dim(1), dtype_argument(DType::kI64)});
  const ValueId keep = n.op(OpId::ge_Tensor_out, {columns, n.view(rows, {n.dim(x, rank - 2), Dim(1)})});
  return n.op(OpId::where_self_out, {keep, x, n.splat(n.dtype(x), {}, 0)});
}

void import_trilu(NodeContext& n) {
  const ValueId x = n.input(0);
  if (!n.ok()) return;
  if (n.rank(x) < 2) return n.invalid("expected at least 2 dimensions, found " + n.type_text(x));
  const DimList given = n.has_input(1) ? n.known_dims(1, "k") : DimList{Dim(0)};
  if (!n.ok()) return;
  if (given.size() != 1) return n.invalid("k must have one element");
  // Beyond any size there is nothing more to keep or to drop.
  constexpr int64_t kFar = 1 << 30;
  const Dim k = given[0].is_constant() ? Dim(std::clamp(given[0].value, -kFar, kFar)) : given[0];
  if (n.integer("upper", 1) != 0) {
    n.output(0, upper_triangle(n, x, k));
  } else {
    n.output(0, n.op(OpId::tril_out, {x, k}));
  }
}

// Columns of places, not rows.
void import_non_zero(NodeContext& n) { n.output(0, n.permute(n.op(OpId::nonzero_out, {n.input(0)}), {1, 0})); }

// Of sequence b the first sequence_lens[b] elements turned round, the rest as they are.
void import_reverse_sequence(NodeContext& n) {
  const ValueId x = n.input(0);
  const int64_t batch = n.integer("batch_axis", 1);
  const int64_t time = n.integer("time_axis", 0);
  if (n.ok() && (n.rank(x) < 2 || batch < 0 || time < 0 || batch > 1 || time > 1 || batch == time)) {
    return n.invalid("one of 'batch_axis' and 'time_axis' must be 0, the other 1");
  }
  if (!n.ok()) return;
  const Dim length = n.dim(x, static_cast<int>(time));
  std::vector<Dim> along(2, Dim(1));
  along[time] = length;
  std::vector<Dim> across(2, Dim(1));
  across[batch] = n.dim(x, static_cast<int>(batch));
  const ValueId steps =
      n.view(n.op(OpId::arange_start_out, {Dim(0), length, Dim(1), dtype_argument(DType::kI64)}), along);
  const ValueId lengths = n.view(n.cast(n.input(1), DType::kI64), across);
  const ValueId back = n.op(OpId::sub_Scalar_out, {n.op(OpId::sub_out, {lengths, steps}), Dim(1)});
  const ValueId within = n.op(OpId::lt_Tensor_out, {steps, lengths});
  ValueId index = n.op(OpId::where_self_out, {within, back, steps});
  std::vector<Dim> shape = n.shape(index);
  shape.resize(n.rank(x), Dim(1));
  index = n.expand(n.view(index, shape), n.shape(x));
  n.output(0, n.op(OpId::gather_out, {x, Dim(time), index}));
}

constexpr OperatorRow kElementRows[] = {
    {"CumProd", 2, 2, import_cum_prod},
    {"CumSum", 2, 2, import_cum_sum},
    {"GatherElements", 2, 2, import_gather_elements},
    {"GatherND", 2, 2, import_gather_nd},
    {"NonZero", 1, 1, import_non_zero},
    {"OneHot", 3, 3, import_one_hot},
    {"ReverseSequence", 2, 2, import_reverse_sequence},
    {"Scatter", 3, 3, import_scatter_elements},
    {"ScatterElements", 3, 3, import_scatter_elements},
    {"ScatterND", 3, 3, import_scatter_nd},
    {"TopK", 1, 2, import_top_k},
    {"Trilu", 1, 2, import_trilu},
};

}  // namespace

OperatorTable element_operators() { return kElementRows; }

}  // namespace berth::onnx
