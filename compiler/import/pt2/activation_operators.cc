// Activations.
#include <cmath>

#include "compiler/import/lowering/arithmetic.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

// max(x, 0) + log(1 + e^-|x|): does not overflow.
ValueId softplus(NodeContext& n, ValueId x) {
  const ValueId tail = n.op(OpId::exp_out, {n.op(OpId::neg_out, {n.op(OpId::abs_out, {x})})});
  return n.op(OpId::add_out, {n.op(OpId::relu_out, {x}), n.op(OpId::log1p_out, {tail})});
}

// clamp(x + 3, 0, 6) / 6
ValueId hard_sigmoid(NodeContext& n, ValueId x) {
  const ValueId line = n.op(OpId::clamp_out, {n.op(OpId::add_Scalar_out, {x, 3.0}), 0.0, 6.0});
  return n.op(OpId::mul_Scalar_out, {line, 1.0 / 6});
}

void import_silu(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(mul(n, x, n.op(OpId::sigmoid_out, {x})));
}

void import_mish(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(mul(n, x, n.op(OpId::tanh_out, {softplus(n, x)})));
}

void import_hardswish(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(mul(n, x, hard_sigmoid(n, x)));
}

void import_hardsigmoid(NodeContext& n) { n.output(hard_sigmoid(n, n.tensor("self"))); }

void import_relu6(NodeContext& n) {
  const ValueId x = n.tensor("self");
  if (is_floating(n.dtype(x))) return n.output(n.op(OpId::hardtanh_out, {x, 0.0, 6.0}));
  n.output(n.op(OpId::clamp_out, {x, Dim(0), Dim(6)}));
}

void import_selu(NodeContext& n) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  n.output(n.op(OpId::elu_out, {n.tensor("self"), kAlpha, kScale, 1.0}));
}

// max(x, 0) + min(0, alpha (e^(x / alpha) - 1)): an elu of a scaled input.
void import_celu(NodeContext& n) {
  const double alpha = n.number("alpha", 1);
  if (alpha == 0) return n.invalid("alpha must not be 0");
  n.output(n.op(OpId::elu_out, {n.tensor("self"), alpha, 1.0, 1.0 / alpha}));
}

void import_softplus(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const double beta = n.number("beta", 1);
  const double threshold = n.number("threshold", 20);
  if (beta == 0) return n.invalid("beta must not be 0");
  const ValueId scaled = beta == 1 ? x : n.op(OpId::mul_Scalar_out, {x, beta});
  ValueId y = softplus(n, scaled);
  if (beta != 1) y = n.op(OpId::mul_Scalar_out, {y, 1 / beta});
  n.output(n.op(OpId::where_self_out, {n.op(OpId::gt_Scalar_out, {scaled, threshold}), x, y}));
}

// -softplus(-x)
ValueId log_sigmoid(NodeContext& n, ValueId x) { return n.op(OpId::neg_out, {softplus(n, n.op(OpId::neg_out, {x}))}); }

void import_log_sigmoid(NodeContext& n) {
  n.output(log_sigmoid(n, n.tensor("self")));
  n.unknown_output(1, "is what the gradient needs");
}

void import_hardshrink(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const ValueId small = n.op(OpId::le_Scalar_out, {n.op(OpId::abs_out, {x}), n.number("lambd", 0.5)});
  n.output(n.op(OpId::masked_fill_Scalar_out, {x, small, 0.0}));
}

// x - clamp(x, -lambda, lambda)
void import_softshrink(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const double lambda = n.number("lambd", 0.5);
  n.output(n.op(OpId::sub_out, {x, n.op(OpId::clamp_out, {x, -lambda, lambda})}));
}

void import_threshold(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const ValueId low = n.op(OpId::le_Scalar_out, {x, n.scalar("threshold", 0.0)});
  n.output(n.op(OpId::masked_fill_Scalar_out, {x, low, n.scalar("value", 0.0)}));
}

// One slope for all, or one a channel (dimension 1).
void import_prelu(NodeContext& n) {
  const ValueId x = n.tensor("self");
  ValueId weight = n.tensor("weight");
  const int rank = n.rank(x);
  if (n.rank(weight) == 1 && rank > 1) {
    std::vector<Dim> shape(rank, Dim(1));
    shape[1] = n.dim(weight, 0);
    weight = n.view(weight, shape);
  }
  const ValueId positive = n.op(OpId::gt_Scalar_out, {x, 0.0});
  n.output(n.op(OpId::where_self_out, {positive, x, mul(n, x, weight)}));
}

// When not training, the slope is the middle.
void import_rrelu(NodeContext& n) {
  if (n.truth("training", false)) return n.unsupported("training draws random slopes; export the model in eval mode");
  const double slope = (n.number("lower", 0.125) + n.number("upper", 1.0 / 3)) / 2;
  n.output(n.op(OpId::leaky_relu_out, {n.tensor("self"), slope}));
  n.unknown_output(1, "is the noise of training");
}

void import_dropout(NodeContext& n) {
  const std::string input = n.argument("self") != nullptr ? "self" : "input";
  if (n.truth("train", false) && n.number("p", 0.5) != 0) {
    return n.unsupported("training drops random elements; export the model in eval mode");
  }
  n.output(n.tensor(input));
  n.unknown_output(1, "is what training needs");
}

void import_glu_parts(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(n.op(OpId::glu_out, {x, n.dim("dim", Dim(-1))}));
}

constexpr OperatorRow kActivationRows[] = {
    {"_prelu_kernel", import_prelu},
    {"alpha_dropout", import_dropout},
    {"celu", import_celu},
    {"dropout", import_dropout},
    {"feature_alpha_dropout", import_dropout},
    {"feature_dropout", import_dropout},
    {"glu", import_glu_parts},
    {"hardshrink", import_hardshrink},
    {"hardsigmoid", import_hardsigmoid},
    {"hardswish", import_hardswish},
    {"log_sigmoid", import_log_sigmoid},
    {"log_sigmoid_forward", import_log_sigmoid},
    {"mish", import_mish},
    {"native_dropout", import_dropout},
    {"prelu", import_prelu},
    {"relu6", import_relu6},
    {"rrelu", import_rrelu},
    {"rrelu_with_noise", import_rrelu},
    {"rrelu_with_noise_functional", import_rrelu},
    {"selu", import_selu},
    {"silu", import_silu},
    {"softplus", import_softplus},
    {"softshrink", import_softshrink},
    {"threshold", import_threshold},
};

}  // namespace

OperatorTable activation_operators() { return kActivationRows; }

}  // namespace berth::pt2
