// Shapes, orders, repeats.
#include <algorithm>
#include <optional>

#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

/// `sizes` for a view of `x`, with -1 where one size follows from the others: the operator's rule knows how.
void import_view(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const DimList sizes = n.dims(n.argument("size") != nullptr ? "size" : "shape");
  if (n.ok() && sizes == DimList(n.shape(x))) return n.output(x);
  n.output(n.op(OpId::view_copy_out, {x, sizes}));
}

void import_view_as(NodeContext& n) { n.output(n.view(n.tensor("self"), n.shape(n.tensor("other")))); }

void import_flatten(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int rank = std::max(n.rank(x), 1);
  const int first = n.axis(n.integer("start_dim", 0), rank);
  const int last = n.axis(n.integer("end_dim", -1), rank);
  const std::vector<Dim> shape = n.shape(x);
  if (n.ok() && first > last) return n.invalid("start_dim lies behind end_dim");
  std::vector<Dim> flat(shape.begin(), shape.begin() + std::min<std::ptrdiff_t>(first, n.rank(x)));
  flat.push_back(n.product(shape, first, last + 1));
  if (last + 1 < n.rank(x)) flat.insert(flat.end(), shape.begin() + last + 1, shape.end());
  n.output(n.view(x, flat));
}

void import_unflatten(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int axis = n.axis(n.integer("dim", 0), n.rank(x));
  const DimList sizes = n.dims("sizes");
  DimList shape = n.shape(x);
  if (!n.ok() || shape.empty()) return;
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, sizes.begin(), sizes.end());
  // A size of -1 follows from the one that is split, the same as from all of them.
  n.output(n.op(OpId::view_copy_out, {x, shape}));
}

// Sizes that are 1 go, of all dimensions or of those named.
void import_squeeze(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const bool all = n.argument("dim") == nullptr;
  const std::vector<int> named = all ? std::vector<int>() : n.axes(n.integers("dim"), std::max(n.rank(x), 1));
  std::vector<Dim> shape;
  for (int i = 0; i < n.rank(x); ++i) {
    const bool asked = all || std::find(named.begin(), named.end(), i) != named.end();
    if (!asked || n.dim(x, i) != Dim(1)) shape.push_back(n.dim(x, i));
  }
  n.output(n.view(x, shape));
}

std::vector<int64_t> straight(int rank) {
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  return order;
}

// Two dimensions change places: those named, or the last two.
void import_transpose(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int rank = n.rank(x);
  if (rank < 2) return n.output(x);
  const char* first = n.has("dim0") ? "dim0" : "axis0";
  const char* second = n.has("dim1") ? "dim1" : "axis1";
  std::vector<int64_t> order = straight(rank);
  const int a = n.axis(n.integer(first, -2), rank);
  const int b = n.axis(n.integer(second, -1), rank);
  std::swap(order[a], order[b]);
  n.output(n.permute(x, order));
}

void import_reverse_all(NodeContext& n) {
  const ValueId x = n.tensor("self");
  std::vector<int64_t> order = straight(n.rank(x));
  std::reverse(order.begin(), order.end());
  n.output(n.permute(x, order));
}

void import_movedim(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const std::vector<int> from = n.axes(n.integers("source"), n.rank(x));
  const std::vector<int> to = n.axes(n.integers("destination"), n.rank(x));
  if (n.ok() && from.size() != to.size()) return n.invalid("source and destination differ in length");
  if (!n.ok()) return;
  std::vector<int64_t> order(n.rank(x), -1);
  for (size_t i = 0; i < from.size(); ++i) order[to[i]] = from[i];
  size_t at = 0;
  for (int i = 0; i < n.rank(x); ++i) {
    if (std::find(from.begin(), from.end(), i) != from.end()) continue;
    while (order[at] >= 0) ++at;
    order[at] = i;
  }
  n.output(n.permute(x, order));
}

void import_expand_as(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(n.op(OpId::expand_copy_out, {x, n.shape(n.tensor("other"))}));
}

void import_broadcast_to(NodeContext& n) { n.output(n.op(OpId::expand_copy_out, {n.tensor("self"), n.dims("size")})); }

void import_broadcast_tensors(NodeContext& n) {
  const ValueList all = n.tensors("tensors");
  std::vector<Dim> shape;
  for (ValueId x : all) {
    std::vector<Dim> one = n.shape(x);
    if (one.size() > shape.size()) shape.insert(shape.begin(), one.size() - shape.size(), Dim(1));
    const size_t missing = shape.size() - one.size();
    for (size_t i = 0; i < one.size(); ++i) {
      if (shape[missing + i] == Dim(1)) shape[missing + i] = one[i];
    }
  }
  std::vector<ValueId> results;
  for (ValueId x : all) results.push_back(n.expand(x, shape));
  n.outputs(results);
}

void import_narrow(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int axis = n.axis(n.integer("dim", 0), n.rank(x));
  Dim start = n.dim("start", Dim(0));
  if (start.is_constant() && start.value < 0) start = n.symbols().add(start, n.dim(x, axis));
  const Dim end = n.symbols().add(start, n.dim("length", Dim(0)));
  n.output(n.slice(x, axis, start, end));
}

void import_tile(NodeContext& n) {
  ValueId x = n.tensor("self");
  DimList repeats = n.dims("dims");
  const size_t rank = n.rank(x);
  if (repeats.size() < rank) repeats.insert(repeats.begin(), rank - repeats.size(), Dim(1));
  n.output(n.op(OpId::repeat_out, {x, repeats}));
}

// Each element as often as it is said, beside itself: an expansion of a dimension of its own.
void import_repeat_interleave(NodeContext& n) {
  ValueId x = n.tensor("self");
  const Dim repeats = n.dim("repeats", Dim(1));
  if (!n.has("dim")) x = n.view(x, {n.product(n.shape(x), 0, n.rank(x))});
  const int axis = n.axis(n.integer("dim", 0), n.rank(x));
  if (!n.ok()) return;
  std::vector<Dim> shape = n.shape(x);
  std::vector<Dim> wide = shape;
  wide.insert(wide.begin() + axis + 1, Dim(1));
  ValueId y = n.view(x, wide);
  wide[axis + 1] = repeats;
  y = n.expand(y, wide);
  shape[axis] = n.symbols().mul(shape[axis], repeats);
  n.output(n.view(y, shape));
}

/// The sum of a constant of whole numbers; nothing when `x` is none.
std::optional<int64_t> sum_of_constant(NodeContext& n, ValueId x) {
  const ir::Node* maker = n.producer(x);
  while (maker != nullptr && (maker->is(OpId::lift_fresh_copy_out) || maker->is(OpId::clone_out))) {
    x = std::get<ValueId>(maker->args[0]);
    maker = n.producer(x);
  }
  const ir::Constant* constant = n.ok() ? ir::constant_of(n.state().module, n.state().method, x) : nullptr;
  constexpr size_t kMost = size_t{1} << 20;
  if (constant == nullptr || constant->type.dtype != DType::kI64 || constant->blob.size() > kMost) return std::nullopt;
  int64_t sum = 0;
  for (size_t at = 0; at + sizeof(int64_t) <= constant->blob.size(); at += sizeof(int64_t)) {
    int64_t number = 0;
    constant->blob.read(at, {reinterpret_cast<uint8_t*>(&number), sizeof number});
    if (number < 0 || number > INT32_MAX || sum > INT32_MAX) return std::nullopt;
    sum += number;
  }
  return sum;
}

/// Indices of rows, each as often as 'repeats' says. How many that makes is known from a constant, from the model, or
/// it has a bound as dimension `axis` of the node's result.
ValueId repeated_rows(NodeContext& n, int axis) {
  const ValueId repeats = n.tensor("repeats");
  IrArgument count = n.has("output_size") ? IrArgument(n.dim("output_size", Dim(0))) : IrArgument(None());
  if (const auto sum = sum_of_constant(n, repeats)) count = Dim(*sum);
  const ValueId index = n.op(OpId::repeat_interleave_Tensor_out, {repeats, count});
  if (!n.ok() || !std::holds_alternative<ir::None>(count)) return index;
  const TensorMeta* meta = n.output_meta(0);
  const bool said = meta != nullptr && meta->sizes.size() > static_cast<size_t>(axis);
  const auto size =
      said ? n.state().symbols.bounded(meta->sizes[axis]) : Expected<Dim>(Failure{Error::kNotSupported, "", ""});
  if (size.ok()) {
    n.state().method.value(index).tensor()->shape = {*size};
  } else {
    n.unsupported(
        "how often only the data tell, and nothing says how many that makes together; pass output_size=, so that "
        "memory can be planned");
  }
  return index;
}

void import_repeats(NodeContext& n) { n.output(repeated_rows(n, 0)); }

// As often as a tensor says: rows picked by indices that the data tell.
void import_repeat_by_tensor(NodeContext& n) {
  ValueId x = n.tensor("self");
  if (!n.has("dim")) x = n.view(x, {n.product(n.shape(x), 0, n.rank(x))});
  const int axis = n.axis(n.integer("dim", 0), n.rank(x));
  const ValueId index = repeated_rows(n, axis);
  n.output(n.op(OpId::index_select_out, {x, Dim(axis), index}));
}

template <OpId id>
void import_joined(NodeContext& n) {
  n.output(n.op(id, {n.tensors("tensors"), n.dim(n.has("axis") ? "axis" : "dim", Dim(0))}));
}

// Along the first dimension, or the second where there is one.
void import_stacked(NodeContext& n, int64_t axis) {
  ValueList all = n.tensors("tensors");
  for (ValueId& x : all) {
    if (axis == 0 && n.rank(x) < 2) x = n.pad_rank(x, 2);
    if (axis == 1 && n.rank(x) == 0) x = n.pad_rank(x, 1);
  }
  const bool flat = !all.empty() && n.rank(all[0]) == 1;
  n.output(n.op(OpId::cat_out, {all, Dim(flat ? 0 : axis)}));
}
void import_hstack(NodeContext& n) { import_stacked(n, 1); }
void import_vstack(NodeContext& n) { import_stacked(n, 0); }

// One tensor along each dimension, repeated along the others.
void import_meshgrid(NodeContext& n) {
  const ValueList all = n.tensors("tensors");
  const bool swapped = n.text("indexing", "ij") == "xy" && all.size() >= 2;
  if (all.size() > kMaxRank) return n.unsupported("a grid of more than 16 dimensions");
  std::vector<size_t> place(all.size());
  for (size_t i = 0; i < place.size(); ++i) place[i] = swapped && i < 2 ? 1 - i : i;
  std::vector<Dim> sizes(all.size(), Dim(1));
  for (size_t i = 0; i < all.size(); ++i) sizes[place[i]] = n.product(n.shape(all[i]), 0, n.rank(all[i]));
  std::vector<ValueId> results;
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<Dim> shape(all.size(), Dim(1));
    shape[place[i]] = sizes[place[i]];
    results.push_back(n.expand(n.view(all[i], shape), sizes));
  }
  n.outputs(results);
}

// tril keeps what triu of one diagonal further drops.
void import_triu(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const Dim diagonal = n.symbols().add(n.dim("diagonal", Dim(0)), Dim(-1));
  const ValueId ones = n.op(OpId::full_like_out, {x, Dim(1), None(), number_of(DType::kBool)});
  const ValueId below = n.op(OpId::tril_out, {ones, diagonal});
  n.output(n.op(OpId::masked_fill_Scalar_out, {x, below, Dim(0)}));
}

// [N, g c, …] → [N, c g, …]
void import_channel_shuffle(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const Dim groups = n.dim("groups", Dim(1));
  const std::vector<Dim> shape = n.shape(x);
  if (!n.ok() || shape.size() < 3 || n.symbols().lower(groups) < 1) return n.invalid("needs [N, C, spatial…]");
  const Dim rest = n.product(shape, 2, n.rank(x));
  const ValueId apart = n.view(x, {shape[0], groups, n.symbols().floor_div(shape[1], groups), rest});
  n.output(n.view(n.permute(apart, {0, 2, 1, 3}), shape));
}

void import_rot90(NodeContext& n) {
  ValueId x = n.tensor("self");
  const int64_t turns = ((n.integer("k", 1) % 4) + 4) % 4;
  std::vector<int64_t> dims = n.integers("dims");
  if (dims.empty()) dims = {0, 1};
  const std::vector<int> axes = n.axes(dims, n.rank(x));
  if (!n.ok() || axes.size() != 2) return n.invalid("needs two dimensions to turn");
  std::vector<int64_t> order = straight(n.rank(x));
  std::swap(order[axes[0]], order[axes[1]]);
  const auto flip = [&](DimList which) { return n.op(OpId::flip_out, {x, which}); };
  if (turns == 1) x = n.permute(flip({Dim(axes[1])}), order);
  if (turns == 2) x = flip({Dim(axes[0]), Dim(axes[1])});
  if (turns == 3) x = n.permute(flip({Dim(axes[0])}), order);
  n.output(x);
}

template <int axis>
void import_flip_along(NodeContext& n) {
  n.output(n.op(OpId::flip_out, {n.tensor("self"), DimList{Dim(axis)}}));
}

void import_at_least(NodeContext& n, int rank) {
  const ValueId x = n.tensor("self");
  if (rank == 3 && n.rank(x) == 2) return n.output(n.view(x, {n.dim(x, 0), n.dim(x, 1), Dim(1)}));
  if (rank == 3 && n.rank(x) == 1) return n.output(n.view(x, {Dim(1), n.dim(x, 0), Dim(1)}));
  n.output(n.pad_rank(x, rank));
}
void import_at_least_1(NodeContext& n) { import_at_least(n, 1); }
void import_at_least_2(NodeContext& n) { import_at_least(n, 2); }
void import_at_least_3(NodeContext& n) { import_at_least(n, 3); }

constexpr OperatorRow kLayoutRows[] = {
    {"T", import_reverse_all},
    {"_reshape_alias", import_view},
    {"_unsafe_view", import_view},
    {"adjoint", import_transpose},
    {"atleast_1d", import_at_least_1},
    {"atleast_2d", import_at_least_2},
    {"atleast_3d", import_at_least_3},
    {"broadcast_tensors", import_broadcast_tensors},
    {"broadcast_to", import_broadcast_to},
    {"channel_shuffle", import_channel_shuffle},
    {"column_stack", import_hstack},
    {"concat", import_joined<OpId::cat_out>},
    {"concatenate", import_joined<OpId::cat_out>},
    {"expand_as", import_expand_as},
    {"flatten", import_flatten},
    {"fliplr", import_flip_along<1>},
    {"flipud", import_flip_along<0>},
    {"hstack", import_hstack},
    {"mH", import_transpose},
    {"mT", import_transpose},
    {"matrix_H", import_transpose},
    {"meshgrid", import_meshgrid},
    {"moveaxis", import_movedim},
    {"movedim", import_movedim},
    {"narrow", import_narrow},
    {"native_channel_shuffle", import_channel_shuffle},
    {"numpy_T", import_reverse_all},
    {"ravel", import_flatten},
    {"repeat_interleave.Tensor", import_repeats},
    {"repeat_interleave.self_Tensor", import_repeat_by_tensor},
    {"repeat_interleave.self_int", import_repeat_interleave},
    {"reshape", import_view},
    {"reshape_as", import_view_as},
    {"rot90", import_rot90},
    {"row_stack", import_vstack},
    {"squeeze", import_squeeze},
    {"swapaxes", import_transpose},
    {"swapdims", import_transpose},
    {"t", import_transpose},
    {"tile", import_tile},
    {"transpose", import_transpose},
    {"triu", import_triu},
    {"unflatten", import_unflatten},
    {"view.default", import_view},
    {"view_as", import_view_as},
    {"vstack", import_vstack},
};

}  // namespace

OperatorTable layout_operators() { return kLayoutRows; }

}  // namespace berth::pt2
