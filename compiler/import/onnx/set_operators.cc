// Operators whose result is as long as its contents say: Compress, NonMaxSuppression, Unique.
#include <algorithm>
#include <cmath>

#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

// The slices along 'axis', or without it the elements, for which the condition holds; what it does not reach falls
// away.
void import_compress(NodeContext& n) {
  ValueId x = n.input(0);
  const bool flat = !n.has_attribute("axis");
  const int axis = flat ? 0 : n.axis(n.integer("axis", 0), n.rank(x));
  if (flat) x = n.view(x, {n.product(n.shape(x), 0, n.rank(x))});
  const Dim size = n.dim(x, axis);
  const std::optional<Known> known = n.known(1);
  if (!n.ok()) return;
  if (known.has_value() && known->is_constant()) {
    std::vector<int64_t> kept;
    for (size_t i = 0; i < known->elements.size(); ++i) {
      if (known->elements[i].whole.value != 0) kept.push_back(static_cast<int64_t>(i));
    }
    return n.output(0, n.op(OpId::index_select_out, {x, Dim(axis), n.ints(kept)}));
  }
  ValueId condition = n.input(1);
  if (n.ok() && (n.rank(condition) != 1 || n.dtype(condition) != DType::kBool)) {
    return n.invalid("the condition must be bool [n], found " + n.type_text(condition));
  }
  const Dim length = n.dim(condition, 0);
  if (length != size) {
    if (n.symbols().lower(n.symbols().sub(size, length)) < 0) {
      return n.unsupported("a condition that may be longer than what it chooses from");
    }
    const DimList behind{Dim(0), n.symbols().sub(size, length)};
    condition = n.op(OpId::constant_pad_nd_out, {condition, behind, Dim(0)});
  }
  const ValueId places = n.op(OpId::nonzero_out, {condition});
  n.output(0, n.op(OpId::index_select_out, {x, Dim(axis), n.view(places, {n.dim(places, 0)})}));
}

void import_non_max_suppression(NodeContext& n) {
  const int64_t most = n.has_input(2) ? n.known_integer(2, "max_output_boxes_per_class") : 0;
  const double overlap = n.has_input(3) ? n.known_number(3, "iou_threshold") : 0;
  Argument score = None();
  if (n.has_input(4)) score = n.known_number(4, "score_threshold");
  const int64_t format = n.integer("center_point_box", 0);
  if (n.ok() && (most < 0 || !(overlap >= 0 && overlap <= 1) || format < 0 || format > 1)) {
    return n.invalid("needs a number of boxes of at least 0, an overlap from 0 to 1 and a format of 0 or 1");
  }
  n.output(0, n.op(OpId::non_max_suppression_out,
                   {n.input(0), n.input(1), Dim(std::min<int64_t>(most, INT32_MAX)), overlap, score, format == 1}));
}

// Rows along the axis, which goes to the front; without one, elements.
void import_unique(NodeContext& n) {
  const ValueId x = n.input(0);
  const bool flat = !n.has_attribute("axis");
  const int axis = flat ? 0 : n.axis(n.integer("axis", 0), n.rank(x));
  if (!n.ok()) return;
  std::vector<int64_t> order = {axis};
  for (int i = 0; i < n.rank(x); ++i) {
    if (i != axis) order.push_back(i);
  }
  const ValueId front = flat ? x : n.permute(x, order);
  const std::vector<Dim> shape = n.shape(front);
  const int rank = n.rank(front);
  const Dim count = flat ? n.product(shape, 0, rank) : shape[0];
  const Dim width = flat ? Dim(1) : n.product(shape, 1, rank);
  const bool sorted = n.integer("sorted", 1) != 0;
  const std::vector<ValueId> results = n.ops(OpId::unique_out, {n.view(front, {count, width}), sorted});
  if (!n.ok()) return;
  std::vector<Dim> rows = flat ? std::vector<Dim>() : shape;
  if (flat) rows.emplace_back();
  rows[0] = n.dim(results[0], 0);
  ValueId y = n.view(results[0], rows);
  if (!flat) {
    std::vector<int64_t> back(rank);
    for (int i = 0; i < rank; ++i) back[order[i]] = i;
    y = n.permute(y, back);
  }
  n.output(0, y);
  for (size_t i = 1; i < results.size(); ++i) n.output(i, results[i]);
}

constexpr OperatorRow kSetRows[] = {
    {"Compress", 2, 2, import_compress},
    {"NonMaxSuppression", 2, 5, import_non_max_suppression},
    {"Unique", 1, 1, import_unique},
};

}  // namespace

OperatorTable set_operators() { return kSetRows; }

}  // namespace berth::onnx
