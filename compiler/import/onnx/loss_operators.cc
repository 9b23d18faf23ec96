// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: what a classifier is trained with, which evaluations report.
//
// Source: the pages of ONNX on both operators.
#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

DimList all_axes(NodeContext& n, ValueId x) {
  DimList axes;
  for (int i = 0; i < n.rank(x); ++i) axes.emplace_back(i);
  return axes;
}

ValueId sum_of_all(NodeContext& n, ValueId x) {
  if (n.rank(x) == 0) return x;
  return n.op(OpId::sum_IntList_out, {x, all_axes(n, x), false, lowering::number_of(n.dtype(x))});
}

/// The loss of `scores` [N, C, …], logarithms of probabilities, for the classes that input 1 names: output 0.
void give_loss(NodeContext& n, ValueId scores) {
  ValueId target = n.cast(n.input(1), DType::kI64);
  const std::vector<Dim> shape = n.shape(target);
  if (n.ok() && n.rank(scores) != n.rank(target) + 1) {
    return n.invalid("the classes " + n.type_text(target) + " do not fit the scores " + n.type_text(scores));
  }
  ValueId ignored;
  if (n.has_attribute("ignore_index")) {
    ignored = n.op(OpId::eq_Scalar_out, {target, Dim(n.integer("ignore_index", 0))});
    target = n.op(OpId::masked_fill_Scalar_out, {target, ignored, Dim(0)});
  }
  std::vector<Dim> with_class = shape;
  if (n.ok()) with_class.insert(with_class.begin() + 1, Dim(1));
  const ValueId picked = n.op(OpId::gather_out, {scores, Dim(1), n.view(target, with_class)});
  ValueId loss = n.op(OpId::neg_out, {n.view(picked, shape)});
  ValueId weight;
  if (n.has_input(2)) {
    weight = n.op(OpId::index_Tensor_out, {n.input(2), ValueList{target}});
  } else if (ignored.valid()) {
    weight = n.cast(n.op(OpId::logical_not_out, {ignored}), n.dtype(scores));
  }
  if (ignored.valid()) {
    weight = n.op(OpId::masked_fill_Scalar_out, {weight, ignored, 0.0});
    loss = n.op(OpId::masked_fill_Scalar_out, {loss, ignored, 0.0});  // it may be infinite
  }
  if (weight.valid()) loss = lowering::mul(n, loss, weight);
  const std::string reduction = n.text("reduction", "mean");
  if (reduction == "none") return n.output(0, loss);
  if (reduction == "sum") return n.output(0, sum_of_all(n, loss));
  if (reduction != "mean") return n.invalid("attribute 'reduction' is \"" + reduction + "\"");
  if (!weight.valid()) return n.output(0, n.op(OpId::mean_out, {loss, all_axes(n, loss), false}));
  n.output(0, n.op(OpId::div_out, {sum_of_all(n, loss), sum_of_all(n, weight)}));
}

void import_negative_log_likelihood(NodeContext& n) { give_loss(n, n.input(0)); }

void import_softmax_cross_entropy(NodeContext& n) {
  const ValueId x = n.input(0);
  if (n.ok() && n.rank(x) < 2) return n.invalid("expected scores [N, C, …], found " + n.type_text(x));
  const ValueId scores = n.op(OpId::log_softmax_out, {x, Dim(1), false});
  give_loss(n, scores);
  n.output(1, scores);
}

constexpr OperatorRow kLossRows[] = {
    {"NegativeLogLikelihoodLoss", 2, 3, import_negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", 2, 3, import_softmax_cross_entropy},
};

}  // namespace

OperatorTable loss_operators() { return kLossRows; }

}  // namespace berth::onnx
