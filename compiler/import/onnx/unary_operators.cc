// Element-wise operators of one tensor: those that ATen has as they are, and activations made of a few of them.
#include <cmath>

#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

template <OpId id>
void import_unary(NodeContext& n) {
  n.output(0, n.op(id, {n.input(0)}));
}

void import_identity(NodeContext& n) { n.forward(0, 0); }

void import_dropout(NodeContext& n) {
  if (n.has_input(2) && n.known_number(2, "training_mode") != 0) {
    const double ratio = n.has_input(1) ? n.known_number(1, "ratio") : 0.5;
    if (ratio != 0) return n.unsupported("training mode is not supported");
  }
  n.forward(0, 0);
  if (n.wants_output(1)) n.output(1, n.op(OpId::full_out, {n.shape(n.input(0)), Dim(1), Dim(int64_t{11})}));
}

void import_elu(NodeContext& n) { n.output(0, n.op(OpId::elu_out, {n.input(0), n.number("alpha", 1.0)})); }

void import_celu(NodeContext& n) {
  const double alpha = n.number("alpha", 1.0);
  if (alpha == 0) return n.invalid("attribute 'alpha' must not be 0");
  n.output(0, n.op(OpId::elu_out, {n.input(0), alpha, 1.0, 1.0 / alpha}));
}

void import_selu(NodeContext& n) {
  const double alpha = n.number("alpha", 1.67326319217681884765625);
  n.output(0, n.op(OpId::elu_out, {n.input(0), alpha, n.number("gamma", 1.05070102214813232421875)}));
}

void import_gelu(NodeContext& n) {
  const std::string approximate = n.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") return n.invalid("'approximate' must be none or tanh");
  n.output(0, n.op(OpId::gelu_out, {n.input(0), approximate}));
}

ValueId hard_sigmoid(NodeContext& n, ValueId x, double alpha, double beta) {
  const ValueId line = n.op(OpId::add_Scalar_out, {n.op(OpId::mul_Scalar_out, {x, alpha}), beta});
  return n.op(OpId::hardtanh_out, {line, 0.0, 1.0});
}

void import_hard_sigmoid(NodeContext& n) {
  const double alpha = n.number("alpha", 0.2f);
  n.output(0, hard_sigmoid(n, n.input(0), alpha, n.number("beta", 0.5)));
}

// x times a gate of at most 1: six times a large x is more than f16 holds.
void import_hard_swish(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId line = n.op(OpId::hardtanh_out, {n.op(OpId::add_Scalar_out, {x, 3.0}), 0.0, 6.0});
  n.output(0, n.op(OpId::mul_out, {x, n.op(OpId::mul_Scalar_out, {line, 1.0 / 6.0})}));
}

void import_leaky_relu(NodeContext& n) {
  n.output(0, n.op(OpId::leaky_relu_out, {n.input(0), n.number("alpha", 0.01f)}));
}

// 0 of NaN, which is above nothing.
void import_thresholded_relu(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId high = n.op(OpId::gt_Scalar_out, {x, n.number("alpha", 1.0)});
  n.output(0, n.op(OpId::where_self_out, {high, x, n.splat(n.dtype(x), {}, 0.0)}));
}

// ATen's sign of NaN is 0, ONNX's is NaN.
void import_sign(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId sign = n.op(OpId::sign_out, {x});
  if (!n.ok() || !is_floating(n.dtype(x))) return n.output(0, sign);
  n.output(0, n.op(OpId::where_self_out, {n.op(OpId::isnan_out, {x}), x, sign}));
}

void import_shrink(NodeContext& n) {
  const ValueId x = n.input(0);
  const double lambd = n.number("lambd", 0.5);
  const double bias = n.number("bias", 0.0);
  const ValueId zero = n.splat(n.dtype(x), {}, 0);  // for NaN too
  const ValueId low = n.cast(n.op(OpId::add_Scalar_out, {x, bias}), n.dtype(x));
  const ValueId high = n.cast(n.op(OpId::sub_Scalar_out, {x, bias}), n.dtype(x));
  const ValueId upper = n.op(OpId::where_self_out, {n.op(OpId::gt_Scalar_out, {x, lambd}), high, zero});
  n.output(0, n.op(OpId::where_self_out, {n.op(OpId::lt_Scalar_out, {x, -lambd}), low, upper}));
}

// log(1 + e^x) as max(x, 0) + log(1 + e^-|x|), which does not overflow.
void import_softplus(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId decay = n.op(OpId::exp_out, {n.op(OpId::neg_out, {n.op(OpId::abs_out, {x})})});
  n.output(0, n.op(OpId::add_out, {n.op(OpId::relu_out, {x}), n.op(OpId::log1p_out, {decay})}));
}

// x · sigmoid(alpha · x)
void import_swish(NodeContext& n) {
  const ValueId x = n.input(0);
  const double alpha = n.number("alpha", 1);
  const ValueId gate = n.op(OpId::sigmoid_out, {alpha == 1 ? x : n.op(OpId::mul_Scalar_out, {x, alpha})});
  n.output(0, n.op(OpId::mul_out, {x, gate}));
}

void import_softsign(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId size = n.op(OpId::add_Scalar_out, {n.op(OpId::abs_out, {x}), 1.0});
  n.output(0, n.op(OpId::div_out, {x, size}));
}

void import_is_inf(NodeContext& n) {
  const ValueId x = n.input(0);
  const bool negative = n.integer("detect_negative", 1) != 0;
  const bool positive = n.integer("detect_positive", 1) != 0;
  if (negative && positive) return n.output(0, n.op(OpId::isinf_out, {x}));
  // With neither, nothing is equal to NaN.
  const double wanted = positive ? HUGE_VAL : negative ? -HUGE_VAL : std::nan("");
  n.output(0, n.op(OpId::eq_Scalar_out, {x, wanted}));
}

/// One bound of Clip: nothing, a number that is known, or a tensor.
struct Bound {
  bool given = false;
  std::optional<Number> number;
  ValueId tensor;
};

Bound clip_bound(NodeContext& n, size_t input, const char* attribute) {
  Bound bound;
  if (n.opset() < 11) {
    bound.given = n.has_attribute(attribute);
    bound.number = Number{Dim(), n.number(attribute, 0)};
    return bound;
  }
  bound.given = n.has_input(input);
  if (!bound.given) return bound;
  const std::optional<Known> known = n.known(input);
  if (known.has_value() && known->elements.size() == 1 && known->is_constant()) {
    bound.number = known->elements[0];
  } else {
    bound.tensor = n.input(input);
  }
  return bound;
}

void import_clip(NodeContext& n) {
  const ValueId x = n.input(0);
  const Bound low = clip_bound(n, 1, "min");
  const Bound high = clip_bound(n, 2, "max");
  if (!n.ok()) return;
  if (!low.given && !high.given) return n.forward(0, 0);
  const bool real = is_floating(n.dtype(x));
  if (low.tensor.valid() || high.tensor.valid()) {
    const auto tensor = [&](const Bound& bound, size_t i) { return bound.given ? Argument(n.input(i)) : None(); };
    return n.output(0, n.op(OpId::clamp_Tensor_out, {x, tensor(low, 1), tensor(high, 2)}));
  }
  const auto scalar = [&](const Bound& bound) {
    if (!bound.given) return Argument(None());
    return real ? Argument(bound.number->real) : Argument(bound.number->whole);
  };
  n.output(0, n.op(OpId::clamp_out, {x, scalar(low), scalar(high)}));
}

constexpr OperatorRow kUnaryRows[] = {
    {"Abs", 1, 1, import_unary<OpId::abs_out>},
    {"Acos", 1, 1, import_unary<OpId::acos_out>},
    {"Acosh", 1, 1, import_unary<OpId::acosh_out>},
    {"Asin", 1, 1, import_unary<OpId::asin_out>},
    {"Asinh", 1, 1, import_unary<OpId::asinh_out>},
    {"Atan", 1, 1, import_unary<OpId::atan_out>},
    {"Atanh", 1, 1, import_unary<OpId::atanh_out>},
    {"BitwiseNot", 1, 1, import_unary<OpId::bitwise_not_out>},
    {"Ceil", 1, 1, import_unary<OpId::ceil_out>},
    {"Celu", 1, 1, import_celu},
    {"Clip", 1, 3, import_clip},
    {"Cos", 1, 1, import_unary<OpId::cos_out>},
    {"Cosh", 1, 1, import_unary<OpId::cosh_out>},
    {"Dropout", 1, 3, import_dropout},
    {"Elu", 1, 1, import_elu},
    {"Erf", 1, 1, import_unary<OpId::erf_out>},
    {"Exp", 1, 1, import_unary<OpId::exp_out>},
    {"Floor", 1, 1, import_unary<OpId::floor_out>},
    {"Gelu", 1, 1, import_gelu},
    {"HardSigmoid", 1, 1, import_hard_sigmoid},
    {"HardSwish", 1, 1, import_hard_swish},
    {"Identity", 1, 1, import_identity},
    {"IsInf", 1, 1, import_is_inf},
    {"IsNaN", 1, 1, import_unary<OpId::isnan_out>},
    {"LeakyRelu", 1, 1, import_leaky_relu},
    {"Log", 1, 1, import_unary<OpId::log_out>},
    {"Neg", 1, 1, import_unary<OpId::neg_out>},
    {"Not", 1, 1, import_unary<OpId::logical_not_out>},
    {"Reciprocal", 1, 1, import_unary<OpId::reciprocal_out>},
    {"Relu", 1, 1, import_unary<OpId::relu_out>},
    {"Round", 1, 1, import_unary<OpId::round_out>},
    {"Selu", 1, 1, import_selu},
    {"Shrink", 1, 1, import_shrink},
    {"Sigmoid", 1, 1, import_unary<OpId::sigmoid_out>},
    {"Sign", 1, 1, import_sign},
    {"Sin", 1, 1, import_unary<OpId::sin_out>},
    {"Sinh", 1, 1, import_unary<OpId::sinh_out>},
    {"Softplus", 1, 1, import_softplus},
    {"Softsign", 1, 1, import_softsign},
    {"Sqrt", 1, 1, import_unary<OpId::sqrt_out>},
    {"Swish", 1, 1, import_swish},
    {"Tan", 1, 1, import_unary<OpId::tan_out>},
    {"Tanh", 1, 1, import_unary<OpId::tanh_out>},
    {"ThresholdedRelu", 1, 1, import_thresholded_relu},
};

}  // namespace

OperatorTable unary_operators() { return kUnaryRows; }

}  // namespace berth::onnx
