// Softmax and its kin. Before opset 13 the tensor counts as a matrix: dimensions before `axis` are its rows, all others
// its columns; from 13 on, the one dimension `axis` is normalised.
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

/// Calls `apply(x, axis)` on the input, seen as a matrix where the version asks for it.
template <typename Apply>
void along_axis(NodeContext& n, Apply&& apply) {
  const ValueId x = n.input(0);
  const bool flattens = n.opset() < 13;
  const int rank = n.rank(x);
  const int axis = n.axis(n.integer("axis", flattens ? 1 : -1), rank);
  if (!n.ok()) return;
  const std::vector<Dim> shape = n.shape(x);
  if (!flattens || n.product(shape, axis + 1, rank) == Dim(1)) return n.output(0, apply(x, axis));
  const ValueId matrix = n.view(x, {n.product(shape, 0, axis), n.product(shape, axis, rank)});
  n.output(0, n.view(apply(matrix, 1), shape));
}

template <OpId id>
void import_softmax(NodeContext& n) {
  along_axis(n, [&](ValueId x, int axis) { return n.op(id, {x, Dim(axis), false}); });
}

// One at the first largest element, zero elsewhere.
void import_hardmax(NodeContext& n) {
  along_axis(n, [&](ValueId x, int axis) {
    const ValueId largest = n.op(OpId::argmax_out, {x, Dim(axis), true});
    const ValueId places = n.op(OpId::arange_start_out, {Dim(0), n.dim(x, axis), Dim(1), Dim(int64_t{4})});
    std::vector<Dim> shape(n.rank(x), Dim(1));
    if (n.ok()) shape[axis] = n.dim(x, axis);
    return n.cast(n.op(OpId::eq_Tensor_out, {n.view(places, shape), largest}), n.dtype(x));
  });
}

constexpr OperatorRow kSoftmaxRows[] = {
    {"Hardmax", 1, 1, import_hardmax},
    {"LogSoftmax", 1, 1, import_softmax<OpId::log_softmax_out>},
    {"Softmax", 1, 1, import_softmax<OpId::softmax_out>},
};

}  // namespace

OperatorTable softmax_operators() { return kSoftmaxRows; }

}  // namespace berth::onnx
