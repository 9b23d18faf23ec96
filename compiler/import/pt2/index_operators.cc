// Indexing beyond what has a row of its own.
#include "compiler/import/pt2/masks.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

/// Indices for index and index_put that name places of dimension `axis` alone.
ValueList along(int axis, ValueId index) {
  ValueList indices(axis, ValueId());
  indices.push_back(index);
  return indices;
}

int index_axis(NodeContext& n, ValueId x) { return n.axis(n.integer("dim", 0), n.rank(x)); }

/// Masks among `indices` as what they stand for: one list of places for each of their dimensions.
ValueList without_masks(NodeContext& n, const ValueList& indices) {
  ValueList all;
  for (ValueId index : indices) {
    if (!index.valid() || n.dtype(index) != DType::kBool) {
      all.push_back(index);
      continue;
    }
    if (n.rank(index) == 0) n.unsupported("a mask of no dimensions, which adds one");
    for (ValueId column : places(n, index)) all.push_back(column);
  }
  return all;
}

// How many elements a mask picks only the data tell.
void import_index(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const ValueList indices = n.tensors("indices");
  const bool one_mask = indices.size() == 1 && indices[0].valid() && n.dtype(indices[0]) == DType::kBool;
  if (one_mask && n.rank(indices[0]) == n.rank(x)) return n.output(n.op(OpId::masked_select_out, {x, indices[0]}));
  n.output(n.op(OpId::index_Tensor_out, {x, without_masks(n, indices)}));
}

// Each element beside all that it may be. A number on either side is of the other's type.
void import_isin(NodeContext& n) {
  const ValueId tensor = n.tensor(n.has("elements") ? "elements" : "test_elements");
  const ValueId x = n.has("elements") ? tensor : n.tensor("element", tensor);
  const ValueId all = n.has("test_elements") ? n.tensor("test_elements") : n.tensor("test_element", tensor);
  std::vector<Dim> beside = n.shape(x);
  beside.emplace_back(1);
  const ValueId row = n.view(all, {n.product(n.shape(all), 0, n.rank(all))});
  const ValueId found = n.op(OpId::any_out, {n.op(OpId::eq_Tensor_out, {n.view(x, beside), row}), Dim(-1), false});
  n.output(n.truth("invert", false) ? n.op(OpId::logical_not_out, {found}) : found);
}

void import_index_put(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const ValueId values = n.cast(n.tensor("values", x), n.dtype(x));
  n.output(n.op(OpId::index_put_out, {x, n.tensors("indices"), values, n.truth("accumulate", false)}));
}

/// `values` [.., k, ..] with dimension `axis` in front, as index_put wants them when the dimensions before it are
/// whole.
void put_along(NodeContext& n, ValueId source, bool accumulate) {
  const ValueId x = n.tensor("self");
  const int axis = index_axis(n, x);
  const ValueId index = n.tensor("index");
  n.output(n.op(OpId::index_put_out, {x, along(axis, index), n.cast(source, n.dtype(x)), accumulate}));
}

void import_index_add(NodeContext& n) {
  ValueId source = n.tensor("source");
  if (n.has("alpha")) source = n.op(OpId::mul_Scalar_out, {source, n.scalar("alpha", Dim(1))});
  put_along(n, source, true);
}

void import_index_copy(NodeContext& n) { put_along(n, n.tensor("source"), false); }

void import_index_fill(NodeContext& n) {
  const ValueId x = n.tensor("self");
  put_along(n, n.tensor("value", x), false);
}

void import_take(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const ValueId flat = n.view(x, {n.product(n.shape(x), 0, n.rank(x))});
  n.output(n.op(OpId::index_Tensor_out, {flat, ValueList{n.tensor("index")}}));
}

// A gather whose index broadcasts in the other dimensions, and counts from the end where it is negative.
void import_take_along(NodeContext& n) {
  ValueId x = n.tensor("self");
  ValueId index = n.tensor("indices");
  if (!n.has("dim")) {
    x = n.view(x, {n.product(n.shape(x), 0, n.rank(x))});
    index = n.view(index, {n.product(n.shape(index), 0, n.rank(index))});
  }
  const int axis = index_axis(n, x);
  std::vector<Dim> from = n.shape(x);
  std::vector<Dim> shape = n.shape(index);
  if (n.ok() && shape.size() != from.size()) n.invalid("the tensors differ in rank");
  if (!n.ok()) return;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == static_cast<size_t>(axis)) continue;
    if (shape[i] == Dim(1)) shape[i] = from[i];
    from[i] = shape[i];
  }
  const ValueId behind = n.op(OpId::add_Scalar_out, {index, from[axis]});
  index = n.op(OpId::where_self_out, {n.op(OpId::lt_Scalar_out, {index, Dim(0)}), behind, index});
  n.output(n.op(OpId::gather_out, {n.expand(x, from), Dim(axis), n.expand(index, shape)}));
}

// Of a tensor without dimensions all that there is to select is the tensor.
void import_index_select(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const ValueId index = n.tensor("index");
  n.output(n.rank(x) == 0 ? x : n.op(OpId::index_select_out, {x, n.dim("dim", Dim(0)), index}));
}

// One row a non-zero element, or, as a tuple, one tensor a dimension.
void import_nonzero_tuple(NodeContext& n) {
  const ValueId places = n.op(OpId::nonzero_out, {n.tensor("self")});
  std::vector<ValueId> columns;
  for (size_t i = 0; i < n.output_count() && n.ok(); ++i) {
    columns.push_back(n.op(OpId::select_copy_int_out, {places, Dim(1), Dim(static_cast<int64_t>(i))}));
  }
  n.outputs(columns);
}

void import_one_hot(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int64_t classes = n.integer("num_classes", -1);
  if (n.ok() && classes < 1) return n.unsupported("num_classes must be given: the size would depend on the data");
  std::vector<Dim> shape = n.shape(x);
  shape.emplace_back(1);
  const ValueId numbers = n.op(OpId::arange_start_out, {Dim(0), Dim(classes), Dim(1), number_of(DType::kI64)});
  n.output(n.cast(n.op(OpId::eq_Tensor_out, {n.view(x, shape), numbers}), DType::kI64));
}

// What aten::scatter_reduce has taken the place of, by older names.
void scatter_reducing(NodeContext& n, ValueId x, Dim dim, ValueId index, ValueId source) {
  const std::string how = n.text("reduce", "");
  if (how != "add" && how != "multiply") return n.unsupported("reduces by \"" + how + "\", not by add or multiply");
  if (!source.valid()) {
    source = n.op(OpId::full_like_out, {index, n.scalar("value", Dim(0)), None(), number_of(n.dtype(x))});
  }
  const std::string name = how == "add" ? "sum" : "prod";
  n.output(n.op(OpId::scatter_reduce_two_out, {x, dim, index, source, name, true}));
}

// Numbers are of the type of what they are put in.
void import_scatter(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const Dim dim = n.dim("dim", Dim(0));
  const ValueId index = n.tensor("index");
  ValueId source;
  if (n.argument("src") != nullptr) source = n.cast(n.tensor("src"), n.dtype(x));
  if (n.has("reduce")) return scatter_reducing(n, x, dim, index, source);
  if (source.valid()) return n.output(n.op(OpId::scatter_src_out, {x, dim, index, source}));
  n.output(n.op(OpId::scatter_value_out, {x, dim, index, n.scalar("value", Dim(0))}));
}

void import_diagonal_scatter(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const ValueId source = n.tensor("src");
  if (n.rank(x) != 2 || n.integer("dim1", 0) == n.integer("dim2", 1)) {
    return n.unsupported("a diagonal of more than two dimensions");
  }
  const int64_t offset = n.integer("offset", 0);
  const int64_t length = n.fixed(n.dim(source, 0), "the diagonal's length");
  constexpr int64_t kMax = 1 << 20;
  if (!n.ok() || length > kMax || offset > kMax || offset < -kMax) return n.unsupported("a diagonal this long");
  std::vector<int64_t> rows, columns;
  for (int64_t i = 0; i < length; ++i) {
    rows.push_back(i + std::max<int64_t>(-offset, 0));
    columns.push_back(i + std::max<int64_t>(offset, 0));
  }
  if (n.integer("dim1", 0) % 2 != 0) std::swap(rows, columns);
  n.output(n.op(OpId::index_put_out, {x, ValueList{n.ints(rows), n.ints(columns)}, source, false}));
}

constexpr OperatorRow kIndexRows[] = {
    {"_index_put_impl", import_index_put},
    {"_unsafe_index", import_index},
    {"_unsafe_index_put", import_index_put},
    {"diagonal_scatter", import_diagonal_scatter},
    {"index", import_index},
    {"index_add", import_index_add},
    {"index_copy", import_index_copy},
    {"index_fill", import_index_fill},
    {"index_put", import_index_put},
    {"index_select", import_index_select},
    {"isin", import_isin},
    {"nonzero_numpy", import_nonzero_tuple},
    {"one_hot", import_one_hot},
    {"scatter", import_scatter},
    {"take", import_take},
    {"take_along_dim", import_take_along},
};

}  // namespace

OperatorTable index_operators() { return kIndexRows; }

}  // namespace berth::pt2
