// Operators that look at sizes or change them alone: the elements and their order stay.
#include <algorithm>

#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

Known known_dims_of(const std::vector<Dim>& dims) {
  Known known;
  known.dtype = DType::kI64;
  known.shape = {static_cast<int64_t>(dims.size())};
  for (Dim d : dims) known.elements.push_back({d, 0});
  return known;
}

void import_shape(NodeContext& n) {
  const std::vector<Dim> shape = n.shape(n.input(0));
  const int64_t rank = static_cast<int64_t>(shape.size());
  const auto bound = [&](int64_t x) { return std::min(std::max(x < 0 ? x + rank : x, int64_t{0}), rank); };
  const int64_t start = bound(n.integer("start", 0));
  const int64_t end = std::max(bound(n.integer("end", rank)), start);
  if (!n.ok()) return;
  n.output(0, known_dims_of({shape.begin() + start, shape.begin() + end}));
}

void import_size(NodeContext& n) {
  const std::vector<Dim> shape = n.shape(n.input(0));
  Known known = known_dims_of({n.product(shape, 0, static_cast<int>(shape.size()))});
  known.shape.clear();
  n.output(0, std::move(known));
}

/// The one size that Reshape leaves open: all elements over those that are named. Sizes that stand on both sides go
/// first, so that symbols need no division.
Dim open_size(NodeContext& n, std::vector<Dim> from, std::vector<Dim> to) {
  for (auto d = to.begin(); d != to.end();) {
    const auto same = std::find(from.begin(), from.end(), *d);
    if (same == from.end()) {
      ++d;
    } else {
      from.erase(same);
      d = to.erase(d);
    }
  }
  const Dim whole = n.product(from, 0, static_cast<int>(from.size()));
  const Dim part = n.product(to, 0, static_cast<int>(to.size()));
  if (n.symbols().lower(part) <= 0) {
    n.invalid("the size -1 cannot be computed when another size may be 0");
    return Dim(1);
  }
  if (whole.is_constant() && part.is_constant() && whole.value % part.value != 0) {
    n.invalid("the size -1 does not come out even: " + std::to_string(whole.value) + " elements over " +
              std::to_string(part.value));
  }
  return n.symbols().floor_div(whole, part);
}

void import_reshape(NodeContext& n) {
  const ValueId x = n.input(0);
  const std::vector<Dim> shape = n.shape(x);
  DimList target = n.known_dims(1, "the target shape");
  const bool zero_is_zero = n.integer("allowzero", 0) != 0;
  int open = -1;
  for (size_t i = 0; i < target.size() && n.ok(); ++i) {
    if (target[i] == Dim(0) && !zero_is_zero) {
      if (i >= shape.size())
        return n.invalid("size 0 copies dimension " + std::to_string(i) + ", which the input lacks");
      target[i] = shape[i];
    } else if (target[i] == Dim(-1)) {
      if (open >= 0) return n.invalid("two sizes of the target shape are -1");
      open = static_cast<int>(i);
    } else if (target[i].is_constant() && target[i].value < 0) {
      return n.invalid("the target shape has the size " + std::to_string(target[i].value));
    }
  }
  if (open >= 0 && n.ok()) {
    std::vector<Dim> others = target;
    others.erase(others.begin() + open);
    target[open] = open_size(n, shape, others);
  }
  n.output(0, n.view(x, target));
}

void import_flatten(NodeContext& n) {
  const ValueId x = n.input(0);
  const int rank = n.rank(x);
  int64_t axis = n.integer("axis", 1);
  if (axis < -rank || axis > rank) return n.invalid("axis " + std::to_string(axis) + " does not exist");
  if (axis < 0) axis += rank;
  const std::vector<Dim> shape = n.shape(x);
  n.output(0, n.view(x, {n.product(shape, 0, static_cast<int>(axis)), n.product(shape, static_cast<int>(axis), rank)}));
}

/// Axes are an attribute before opset 13, the second input from then on.
std::vector<int64_t> read_axes(NodeContext& n) {
  if (n.opset() < 13) return n.integers("axes");
  return n.has_input(1) ? n.known_integers(1, "axes") : std::vector<int64_t>();
}

void import_squeeze(NodeContext& n) {
  const ValueId x = n.input(0);
  const std::vector<int> axes = n.axes(read_axes(n), n.rank(x));
  const std::vector<Dim> shape = n.shape(x);
  std::vector<Dim> result;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool named = std::find(axes.begin(), axes.end(), static_cast<int>(i)) != axes.end();
    if (named && shape[i] != Dim(1)) {
      return n.invalid("dimension " + std::to_string(i) + " of " + n.type_text(x) + " is not 1");
    }
    const bool perhaps =
        !shape[i].is_constant() && n.symbols().lower(shape[i]) <= 1 && n.symbols().upper(shape[i]) >= 1;
    if (axes.empty() && perhaps) {
      return n.unsupported("without axes, dimension " + std::to_string(i) + " of " + n.type_text(x) +
                           " would go where it is 1 at run time; name the axes in the model, or give --input-shape a "
                           "range without 1");
    }
    if (!named && (!axes.empty() || shape[i] != Dim(1))) result.push_back(shape[i]);
  }
  n.output(0, n.view(x, result));
}

void import_unsqueeze(NodeContext& n) {
  const ValueId x = n.input(0);
  const std::vector<int64_t> named = read_axes(n);
  std::vector<int> axes = n.axes(named, n.rank(x) + static_cast<int>(named.size()));
  std::sort(axes.begin(), axes.end());
  std::vector<Dim> shape = n.shape(x);
  for (int axis : axes) shape.insert(shape.begin() + axis, Dim(1));
  n.output(0, n.view(x, shape));
}

// Both sides broadcast: a size of 1 in the target keeps the tensor's.
void import_expand(NodeContext& n) {
  const ValueId x = n.input(0);
  DimList target = n.known_dims(1, "the target shape");
  std::vector<Dim> shape = n.shape(x);
  const size_t rank = std::max(shape.size(), target.size());
  shape.insert(shape.begin(), rank - shape.size(), Dim(1));
  target.insert(target.begin(), rank - target.size(), Dim(1));
  for (size_t i = 0; i < rank && n.ok(); ++i) {
    if (target[i] == Dim(1) || target[i] == shape[i]) {
      target[i] = shape[i];
    } else if (shape[i] != Dim(1)) {
      n.invalid("size " + n.symbols().text(shape[i]) + " does not expand to " + n.symbols().text(target[i]));
    }
  }
  n.output(0, n.expand(x, target));
}

constexpr OperatorRow kShapeRows[] = {
    {"Expand", 2, 2, import_expand},       {"Flatten", 1, 1, import_flatten}, {"Reshape", 2, 2, import_reshape},
    {"Shape", 1, 1, import_shape},         {"Size", 1, 1, import_size},       {"Squeeze", 1, 2, import_squeeze},
    {"Unsqueeze", 1, 2, import_unsqueeze},
};

}  // namespace

OperatorTable shape_operators() { return kShapeRows; }

}  // namespace berth::onnx
