// Pad in all its modes.
#include <algorithm>

#include "compiler/import/lowering/padding.h"
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

/// Elements added before and after each dimension; negative ones are taken away.
struct Padding {
  std::vector<Dim> begins;
  std::vector<Dim> ends;
};

Padding read_padding(NodeContext& n, int rank) {
  const DimList pads = n.opset() < 11 ? ir::dims(n.integers("pads")) : n.known_dims(1, "the padding");
  std::vector<int64_t> named;
  if (n.has_input(3)) named = n.known_integers(3, "axes");
  const bool all = !n.has_input(3);
  for (int i = 0; i < rank && all; ++i) named.push_back(i);
  const std::vector<int> axes = n.axes(named, rank);
  if (n.ok() && pads.size() != 2 * axes.size()) {
    n.invalid(std::to_string(pads.size()) + " numbers of padding for " + std::to_string(axes.size()) + " dimensions");
  }
  Padding padding;
  padding.begins.assign(rank, Dim(0));
  padding.ends.assign(rank, Dim(0));
  if (!n.ok()) return padding;
  for (size_t i = 0; i < axes.size(); ++i) {
    for (const Dim pad : {pads[i], pads[axes.size() + i]}) {
      if (pad.is_constant() && (pad.value < -INT32_MAX || pad.value > INT32_MAX)) {
        n.invalid("padding of " + std::to_string(pad.value) + " is too much");
      }
      if (!pad.is_constant() && n.symbols().lower(pad) < 0) {
        n.unsupported("padding of " + n.symbols().text(pad) + " may be negative, which must be a number");
      }
    }
    padding.begins[axes[i]] = pads[i];
    padding.ends[axes[i]] = pads[axes.size() + i];
  }
  return padding;
}

Argument fill_of(NodeContext& n, DType dtype) {
  if (n.opset() < 11) {
    const double value = n.number("value", 0);
    return is_floating(dtype) ? Argument(value) : Argument(Dim(static_cast<int64_t>(value)));
  }
  if (!n.has_input(2)) return is_floating(dtype) ? Argument(0.0) : Argument(Dim(0));
  n.known_number(2, "the constant value");
  const std::optional<Known> value = n.known(2);
  if (!n.ok() || !value.has_value()) return None();
  return value->floating() ? Argument(value->elements[0].real) : Argument(value->elements[0].whole);
}

ValueId pad_constant(NodeContext& n, ValueId x, const Padding& padding) {
  const Argument fill = fill_of(n, n.dtype(x));
  DimList pads;  // from the last dimension to the first, begin and end of each
  bool pads_any = false;
  for (int i = n.rank(x); i-- > 0;) {
    const Dim begin = padding.begins[i];
    const Dim end = padding.ends[i];
    const auto taken = [](Dim pad) { return pad.is_constant() ? std::max(-pad.value, int64_t{0}) : 0; };
    if (taken(begin) > 0 || taken(end) > 0) {
      const Dim stop = n.symbols().add(n.dim(x, i), Dim(-taken(end)));
      x = n.op(OpId::slice_copy_Tensor_out, {x, Dim(i), Dim(taken(begin)), stop, Dim(1)});
    }
    for (const Dim pad : {begin, end}) {
      pads.push_back(taken(pad) > 0 ? Dim(0) : pad);
      pads_any = pads_any || pads.back() != Dim(0);
    }
  }
  return pads_any ? n.op(OpId::constant_pad_nd_out, {x, pads, fill}) : x;
}

ValueId pad_repeating(NodeContext& n, ValueId x, const Padding& padding, lowering::Ends ends) {
  for (int axis = 0; axis < n.rank(x) && n.ok(); ++axis) {
    // What is taken away goes first, as in ONNX Runtime: the others repeat.
    Dim begin = padding.begins[axis];
    Dim end = padding.ends[axis];
    const Dim first = begin.is_constant() && begin.value < 0 ? Dim(-begin.value) : Dim(0);
    const Dim behind = end.is_constant() && end.value < 0 ? end : Dim(0);
    if (first != Dim(0) || behind != Dim(0)) {
      const Dim size = n.dim(x, axis);
      if (size.is_constant() && size.value - first.value + behind.value < 0) n.invalid("fewer elements than go");
      x = n.slice(x, axis, first, n.symbols().add(size, behind));
      if (first != Dim(0)) begin = Dim(0);
      if (behind != Dim(0)) end = Dim(0);
    }
    x = lowering::repeat_ends(n, x, axis, begin, end, ends);
  }
  return x;
}

void import_pad(NodeContext& n) {
  const ValueId x = n.input(0);
  const std::string mode = n.text("mode", "constant");
  const Padding padding = read_padding(n, n.rank(x));
  if (!n.ok()) return;
  if (mode == "constant") return n.output(0, pad_constant(n, x, padding));
  if (mode != "reflect" && mode != "edge" && mode != "wrap") {
    return n.invalid("attribute 'mode' is \"" + mode + "\"; expected constant, reflect, edge or wrap");
  }
  using lowering::Ends;
  const Ends ends = mode == "reflect" ? Ends::kReflect : mode == "edge" ? Ends::kEdge : Ends::kWrap;
  n.output(0, pad_repeating(n, x, padding, ends));
}

constexpr OperatorRow kPadRows[] = {
    {"Pad", 1, 4, import_pad},
};

}  // namespace

OperatorTable pad_operators() { return kPadRows; }

}  // namespace berth::onnx
