// Operators that pick, join and reorder elements by place.
#include <algorithm>

#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

void import_concat(NodeContext& n) {
  const ValueList parts = n.all_inputs();
  const int rank = parts.empty() ? 0 : n.rank(parts[0]);
  if (n.ok() && !n.has_attribute("axis")) return n.invalid("needs the attribute 'axis'");
  const int axis = n.axis(n.integer("axis", 0), rank);
  if (parts.size() == 1) return n.forward(0, 0);
  n.output(0, n.op(OpId::cat_out, {parts, Dim(axis)}));
}

void import_transpose(NodeContext& n) {
  const ValueId x = n.input(0);
  std::vector<int64_t> order = n.integers("perm");
  if (order.empty()) {
    for (int i = n.rank(x); i-- > 0;) order.push_back(i);
  }
  if (static_cast<int>(order.size()) != n.rank(x)) {
    return n.invalid("attribute 'perm' has " + std::to_string(order.size()) + " axes for " + n.type_text(x));
  }
  n.output(0, n.permute(x, order));
}

void import_tile(NodeContext& n) {
  const ValueId x = n.input(0);
  const DimList repeats = n.known_dims(1, "the repeats");
  if (n.ok() && static_cast<int>(repeats.size()) != n.rank(x)) {
    return n.invalid(std::to_string(repeats.size()) + " repeats for " + n.type_text(x));
  }
  n.output(0, n.op(OpId::repeat_out, {x, repeats}));
}

/// Constant indices into a dimension of `size` elements, counted from the front.
std::vector<int64_t> constant_indices(NodeContext& n, const Known& known, Dim size) {
  std::vector<int64_t> indices;
  for (const Number& e : known.elements) {
    int64_t i = e.whole.value;
    if (i < 0) i += n.fixed(size, "the size of a dimension that negative indices count from");
    if (i < 0 || (size.is_constant() && i >= size.value)) {
      n.invalid("index " + std::to_string(e.whole.value) + " lies outside the " + n.symbols().text(size) + " elements");
      return {};
    }
    indices.push_back(i);
  }
  return indices;
}

bool is_run(const std::vector<int64_t>& indices) {
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] != indices[i - 1] + 1) return false;
  }
  return !indices.empty();
}

/// Constant indices, some of them from the end of a dimension whose size is open: as many slices, put together.
ValueId gather_from_end(NodeContext& n, ValueId x, int axis, const Known& known) {
  constexpr size_t kMostSlices = 64;
  if (known.elements.size() > kMostSlices) {
    n.unsupported("more than 64 constant indices that count from the end of a dimension whose size is open");
  }
  ValueList parts;
  for (const Number& e : known.elements) {
    const Dim size = n.dim(x, axis);
    const Dim begin = e.whole.value < 0 ? n.symbols().add(size, e.whole) : e.whole;
    if (n.ok() && (n.symbols().lower(begin) < 0 || e.whole.value >= n.symbols().lower(size))) {
      n.invalid("index " + std::to_string(e.whole.value) + " lies outside of the smallest " + n.symbols().text(size));
    }
    parts.push_back(n.slice(x, axis, begin, n.symbols().add(begin, Dim(1))));
  }
  const ValueId picked = parts.size() == 1 ? parts[0] : n.op(OpId::cat_out, {parts, Dim(axis)});
  std::vector<Dim> shape = n.shape(x);
  if (!n.ok()) return {};
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, known.shape.begin(), known.shape.end());
  return n.view(picked, shape);
}

// One index is a selection, a run of them a slice; others are looked up once.
ValueId gather_constant(NodeContext& n, ValueId x, int axis, const Known& known) {
  const auto is_from_end = [](const Number& e) { return e.whole.value < 0; };
  if (n.ok() && !n.dim(x, axis).is_constant() && !known.elements.empty() &&
      std::any_of(known.elements.begin(), known.elements.end(), is_from_end)) {
    return gather_from_end(n, x, axis, known);
  }
  const std::vector<int64_t> indices = constant_indices(n, known, n.dim(x, axis));
  if (!n.ok()) return {};
  if (known.shape.empty()) return n.op(OpId::select_copy_int_out, {x, Dim(axis), Dim(indices[0])});
  const ValueId picked = is_run(indices) ? n.op(OpId::slice_copy_Tensor_out,
                                                {x, Dim(axis), Dim(indices.front()), Dim(indices.back() + 1), Dim(1)})
                                         : n.op(OpId::index_select_out, {x, Dim(axis), n.ints(indices)});
  std::vector<Dim> shape = n.shape(x);
  if (!n.ok()) return {};
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, known.shape.begin(), known.shape.end());
  return n.view(picked, shape);
}

void import_gather(NodeContext& n) {
  const ValueId x = n.input(0);
  const int axis = n.axis(n.integer("axis", 0), n.rank(x));
  const std::optional<Known> known = n.known(1);
  if (!n.ok()) return;
  if (known.has_value() && known->is_constant() && !known->floating()) {
    return n.output(0, gather_constant(n, x, axis, *known));
  }
  ValueList indices(axis);  // None for the dimensions before
  indices.push_back(n.input(1));
  n.output(0, n.op(OpId::index_Tensor_out, {x, indices}));
}

struct SliceBounds {
  DimList starts;
  DimList ends;
  std::vector<int64_t> axes;
  std::vector<int64_t> steps;
};

SliceBounds read_bounds(NodeContext& n) {
  SliceBounds b;
  if (n.opset() < 10) {
    b.starts = ir::dims(n.integers("starts"));
    b.ends = ir::dims(n.integers("ends"));
    b.axes = n.integers("axes");
  } else {
    b.starts = n.known_dims(1, "starts");
    b.ends = n.known_dims(2, "ends");
    if (n.has_input(3)) b.axes = n.known_integers(3, "axes");
    if (n.has_input(4)) b.steps = n.known_integers(4, "steps");
  }
  if (b.axes.empty()) {
    for (size_t i = 0; i < b.starts.size(); ++i) b.axes.push_back(static_cast<int64_t>(i));
  }
  if (b.steps.empty()) b.steps.assign(b.starts.size(), 1);
  if (b.ends.size() != b.starts.size() || b.axes.size() != b.starts.size() || b.steps.size() != b.starts.size()) {
    n.invalid("starts, ends, axes and steps differ in length");
  }
  return b;
}

// A place as it is counted from the end of the dimension; INT64_MAX for before its beginning.
Dim from_end(NodeContext& n, Dim place, Dim size) {
  const int64_t p = n.fixed(place, "a bound of a slice with a negative step");
  if (p < 0) return Dim(p < -INT32_MAX ? INT64_MAX : -p - 1);
  if (p >= INT32_MAX) return Dim(0);
  const int64_t s = n.fixed(size, "the size of a dimension that is sliced backwards");
  return Dim(std::max(s - 1 - p, int64_t{0}));
}

ValueId slice_axis(NodeContext& n, ValueId x, int axis, Dim start, Dim end, int64_t step) {
  if (step == 0 || step == INT64_MIN) {
    n.invalid("a step of " + std::to_string(step) + " is not possible");
    return {};
  }
  if (step < 0) {
    const Dim size = n.dim(x, axis);
    start = from_end(n, start, size);
    end = from_end(n, end, size);
    x = n.op(OpId::flip_out, {x, DimList{Dim(axis)}});
    step = -step;
  }
  return n.op(OpId::slice_copy_Tensor_out, {x, Dim(axis), start, end, Dim(step)});
}

/// [1]: where input `i` begins or ends a slice of a dimension of `size`, counted from the front.
ValueId bound_of_data(NodeContext& n, size_t i, Dim size) {
  const ValueId bound = n.view(n.cast(n.input(i), DType::kI64), {Dim(1)});
  const ValueId from_front = n.op(OpId::add_Scalar_out, {bound, size});
  return n.op(OpId::where_self_out, {n.op(OpId::lt_Scalar_out, {bound, Dim(0)}), from_front, bound});
}

// Whether only the data tell the bounds, and they are of one axis, in steps of 1.
bool is_one_axis_of_data(NodeContext& n) {
  if (n.opset() < 10 || (n.known(1) && n.known(2)) || !n.ok()) return false;
  const auto is_one = [&](size_t i, bool bound) {
    if (!n.has_input(i)) return !bound;
    return n.rank(n.input(i)) == 1 && n.dim(n.input(i), 0) == Dim(1);
  };
  if (!is_one(1, true) || !is_one(2, true) || !is_one(3, false) || !is_one(4, false)) return false;
  return !n.has_input(4) || (n.known(4) && n.known_integers(4, "steps")[0] == 1);
}

// Where the elements of a dimension of `size` are that lie between inputs 1 and 2, which only the data tell. Slices
// between the same bounds have the same places, so that what they give is known to be of one size.
ValueId places_between(NodeContext& n, Dim size) {
  const ValueId start = n.input(1);
  const ValueId end = n.input(2);
  const ValueId known = n.scope().find_between(start, end, size);
  if (known.valid() || !n.ok()) return known;
  const ValueId all = n.op(OpId::arange_start_out, {Dim(0), size, Dim(1), lowering::number_of(DType::kI64)});
  const ValueId inside = n.op(OpId::logical_and_out, {n.op(OpId::ge_Tensor_out, {all, bound_of_data(n, 1, size)}),
                                                      n.op(OpId::lt_Tensor_out, {all, bound_of_data(n, 2, size)})});
  const ValueId places = n.op(OpId::select_copy_int_out, {n.op(OpId::nonzero_out, {inside}), Dim(1), Dim(0)});
  n.scope().between.push_back({start, end, size, places});
  return places;
}

void slice_by_data(NodeContext& n) {
  const ValueId x = n.input(0);
  const std::vector<int64_t> named = n.has_input(3) ? n.known_integers(3, "axes") : std::vector<int64_t>{0};
  const std::vector<int> axes = n.axes(named, n.rank(x));
  if (!n.ok()) return;
  n.output(0, n.op(OpId::index_select_out, {x, Dim(axes[0]), places_between(n, n.dim(x, axes[0]))}));
}

void import_slice(NodeContext& n) {
  if (is_one_axis_of_data(n)) return slice_by_data(n);
  ValueId x = n.input(0);
  const SliceBounds b = read_bounds(n);
  const std::vector<int> axes = n.axes(b.axes, n.rank(x));
  for (size_t i = 0; i < axes.size() && n.ok(); ++i) {
    x = slice_axis(n, x, axes[i], b.starts[i], b.ends[i], b.steps[i]);
  }
  n.output(0, x);
}

/// The sizes of equal parts; from opset 18 on the last one may be smaller.
DimList equal_parts(NodeContext& n, Dim size) {
  const int64_t count = n.integer("num_outputs", static_cast<int64_t>(n.output_count()));
  if (count < 1 || count != static_cast<int64_t>(n.output_count())) {
    n.invalid("splits into " + std::to_string(count) + " parts and names " + std::to_string(n.output_count()) +
              " outputs");
    return {};
  }
  const Dim part = n.symbols().ceil_div(size, Dim(count));
  DimList parts(count, part);
  parts.back() = n.symbols().sub(size, n.symbols().mul(part, Dim(count - 1)));
  return parts;
}

void import_split(NodeContext& n) {
  const ValueId x = n.input(0);
  const int axis = n.axis(n.integer("axis", 0), n.rank(x));
  DimList sizes;
  if (n.opset() < 13) {
    sizes = ir::dims(n.integers("split"));
  } else if (n.has_input(1)) {
    sizes = n.known_dims(1, "the sizes of the parts");
  }
  if (sizes.empty()) sizes = equal_parts(n, n.dim(x, axis));
  if (n.ok() && sizes.size() != n.output_count()) {
    return n.invalid(std::to_string(sizes.size()) + " parts for " + std::to_string(n.output_count()) + " outputs");
  }
  const std::vector<ValueId> parts = n.ops(OpId::split_with_sizes_copy_out, {x, sizes, Dim(axis)});
  for (size_t i = 0; i < parts.size(); ++i) n.output(i, parts[i]);
}

/// The size of blocks of SpaceToDepth and DepthToSpace, for [N, C, H, W].
int64_t block_size(NodeContext& n, ValueId x) {
  const int64_t block = n.integer("blocksize", 0);
  if (block < 1 || block > INT32_MAX) n.invalid("attribute 'blocksize' must be at least 1");
  if (n.ok() && n.rank(x) != 4) n.invalid("needs [N, C, H, W], found " + n.type_text(x));
  return n.ok() ? block : 1;
}

void import_depth_to_space(NodeContext& n) {
  const ValueId x = n.input(0);
  const int64_t b = block_size(n, x);
  const std::string mode = n.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return n.invalid("attribute 'mode' must be DCR or CRD");
  if (mode == "CRD") return n.output(0, n.op(OpId::pixel_shuffle_out, {x, Dim(b)}));
  ir::Symbols& s = n.symbols();
  const Dim channels = s.floor_div(n.dim(x, 1), Dim(b * b));
  const ValueId blocks = n.view(x, {n.dim(x, 0), Dim(b), Dim(b), channels, n.dim(x, 2), n.dim(x, 3)});
  const ValueId y = n.permute(blocks, {0, 3, 4, 1, 5, 2});
  n.output(0, n.view(y, {n.dim(x, 0), channels, s.mul(n.dim(x, 2), Dim(b)), s.mul(n.dim(x, 3), Dim(b))}));
}

void import_space_to_depth(NodeContext& n) {
  const ValueId x = n.input(0);
  const int64_t b = block_size(n, x);
  // The attribute is younger than opset 23, but a model that has it means it.
  const std::string mode = n.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return n.invalid("attribute 'mode' must be DCR or CRD");
  if (mode == "CRD") return n.output(0, n.op(OpId::pixel_unshuffle_out, {x, Dim(b)}));
  ir::Symbols& s = n.symbols();
  const Dim rows = s.floor_div(n.dim(x, 2), Dim(b));
  const Dim columns = s.floor_div(n.dim(x, 3), Dim(b));
  const ValueId blocks = n.view(x, {n.dim(x, 0), n.dim(x, 1), rows, Dim(b), columns, Dim(b)});
  const ValueId y = n.permute(blocks, {0, 3, 5, 1, 2, 4});
  n.output(0, n.view(y, {n.dim(x, 0), s.mul(n.dim(x, 1), Dim(b * b)), rows, columns}));
}

constexpr OperatorRow kIndexRows[] = {
    {"Concat", 1, kVariadic, import_concat},
    {"DepthToSpace", 1, 1, import_depth_to_space},
    {"Gather", 2, 2, import_gather},
    {"Slice", 1, 5, import_slice},
    {"SpaceToDepth", 1, 1, import_space_to_depth},
    {"Split", 1, 2, import_split},
    {"Tile", 2, 2, import_tile},
    {"Transpose", 1, 1, import_transpose},
};

}  // namespace

OperatorTable index_operators() { return kIndexRows; }

}  // namespace berth::onnx
