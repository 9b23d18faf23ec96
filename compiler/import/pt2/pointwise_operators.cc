// Element-wise operators that format/operators.def does not have under their own name.
#include <cmath>

#include "compiler/import/lowering/complex.h"
#include "compiler/import/pt2/masks.h"
#include "compiler/import/pt2/operators.h"

namespace berth::pt2 {
namespace {

ValueId scaled(NodeContext& n, ValueId x, const IrArgument& factor) {
  const Dim* whole = std::get_if<Dim>(&factor);
  const double* real = std::get_if<double>(&factor);
  if ((whole != nullptr && *whole == Dim(1)) || (real != nullptr && *real == 1)) return x;
  return n.op(OpId::mul_Scalar_out, {x, factor});
}

void import_square(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(n.op(OpId::mul_out, {x, x}));
}

void import_rsub(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(n.op(OpId::sub_out, {n.tensor("other", x), x, n.scalar("alpha", Dim(1))}));
}

/// The same operator under another name.
template <OpId id>
void import_binary(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(n.op(id, {x, n.tensor("other", x)}));
}

template <OpId id>
void import_unary(NodeContext& n) {
  n.output(n.op(id, {n.tensor("self")}));
}

void import_divide(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const ValueId y = n.tensor("other", x);
  if (n.has("rounding_mode")) return n.output(n.op(OpId::div_out_mode, {x, y, n.text("rounding_mode", "floor")}));
  n.output(n.op(OpId::div_out, {x, y}));
}

void import_subtract(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(n.op(OpId::sub_out, {x, n.tensor("other", x), n.scalar("alpha", Dim(1))}));
}

void import_exp2(NodeContext& n) { n.output(n.op(OpId::pow_Scalar_out, {2.0, n.tensor("self")})); }

// A power that the type of `self` does not hold may be one of a product that it holds.
void import_ldexp(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const DType type = is_floating(n.dtype(x)) ? n.dtype(x) : DType::kF32;
  const ValueId exponent = n.cast(n.tensor("other"), type == DType::kF64 ? type : DType::kF32);
  n.output(n.cast(n.op(OpId::mul_out, {x, n.op(OpId::pow_Scalar_out, {2.0, exponent})}), type));
}

void import_erfc(NodeContext& n) {
  n.output(n.op(OpId::rsub_Scalar_out, {n.op(OpId::erf_out, {n.tensor("self")}), 1.0}));
}

void import_frac(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(n.op(OpId::sub_out, {x, n.op(OpId::trunc_out, {x})}));
}

void import_addcmul(NodeContext& n) {
  const ValueId product = n.op(OpId::mul_out, {n.tensor("tensor1"), n.tensor("tensor2")});
  n.output(n.op(OpId::add_out, {n.tensor("self"), scaled(n, product, n.scalar("value", Dim(1)))}));
}

void import_addcdiv(NodeContext& n) {
  const ValueId quotient = n.op(OpId::div_out, {n.tensor("tensor1"), n.tensor("tensor2")});
  n.output(n.op(OpId::add_out, {n.tensor("self"), scaled(n, quotient, n.scalar("value", Dim(1)))}));
}

void import_lerp(NodeContext& n) {
  const ValueId start = n.tensor("self");
  const ValueId difference = n.op(OpId::sub_out, {n.tensor("end"), start});
  n.output(n.op(OpId::add_out, {start, n.op(OpId::mul_out, {difference, n.tensor("weight", start)})}));
}

bool is_bound_number(const Argument* a) {
  return a != nullptr && a->kind != ArgumentKind::kTensor && a->kind != ArgumentKind::kNone;
}

// The bounds are numbers, or tensors.
void import_clamp(NodeContext& n) {
  const ValueId x = n.tensor("self");
  if ((n.has("min") && !is_bound_number(n.argument("min"))) || (n.has("max") && !is_bound_number(n.argument("max")))) {
    return n.output(n.op(OpId::clamp_Tensor_out, {x, n.optional_tensor("min"), n.optional_tensor("max")}));
  }
  n.output(n.op(OpId::clamp_out, {x, n.scalar("min", None()), n.scalar("max", None())}));
}

ValueId both(NodeContext& n, ValueId a, ValueId b) { return n.op(OpId::logical_and_out, {a, b}); }

// |self - other| <= atol + rtol · |other|; infinities are close to themselves alone.
void import_isclose(NodeContext& n) {
  ValueId a = n.tensor("self");
  ValueId b = n.tensor("other", a);
  if (n.truth("equal_nan", false)) return n.unsupported("equal_nan");
  b = n.cast(b, n.dtype(a));
  const ValueId same = n.op(OpId::eq_Tensor_out, {a, b});
  const double relative = n.number("rtol", 1e-5);
  const double absolute = n.number("atol", 1e-8);
  if (relative == 0 && absolute == 0) return n.output(same);
  if (!is_floating(n.dtype(a))) {
    a = n.cast(a, DType::kF32);
    b = n.cast(b, DType::kF32);
  }
  const ValueId error = n.op(OpId::abs_out, {n.op(OpId::sub_out, {a, b})});
  const ValueId part = n.op(OpId::abs_out, {n.op(OpId::mul_Scalar_out, {b, relative})});
  const ValueId allowed = n.op(OpId::add_Scalar_out, {part, absolute});
  const ValueId finite = n.op(OpId::lt_Scalar_out, {error, HUGE_VAL});
  const ValueId near = n.op(OpId::logical_and_out, {finite, n.op(OpId::le_Tensor_out, {error, allowed})});
  n.output(n.op(OpId::logical_or_out, {near, same}));
}

void import_isfinite(NodeContext& n) {
  const ValueId x = n.tensor("self");
  if (!is_floating(n.dtype(x))) return n.output(n.op(OpId::eq_Tensor_out, {x, x}));
  n.output(both(n, n.op(OpId::eq_Tensor_out, {x, x}), n.op(OpId::logical_not_out, {n.op(OpId::isinf_out, {x})})));
}

void import_isposinf(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(both(n, n.op(OpId::isinf_out, {x}), n.op(OpId::gt_Scalar_out, {x, Dim(0)})));
}

void import_isneginf(NodeContext& n) {
  const ValueId x = n.tensor("self");
  n.output(both(n, n.op(OpId::isinf_out, {x}), n.op(OpId::lt_Scalar_out, {x, Dim(0)})));
}

double largest(DType type) {
  if (type == DType::kF16) return 65504;
  if (type == DType::kBF16) return 3.3895313892515355e38;
  return type == DType::kF64 ? 1.7976931348623157e308 : 3.4028234663852886e38;
}

void import_nan_to_num(NodeContext& n) {
  const ValueId x = n.tensor("self");
  if (!is_floating(n.dtype(x))) return n.output(x);
  const double limit = largest(n.dtype(x));
  const ValueId infinite = n.op(OpId::isinf_out, {x});
  ValueId y = n.op(OpId::masked_fill_Scalar_out, {x, n.op(OpId::isnan_out, {x}), n.number("nan", 0)});
  const ValueId high = both(n, infinite, n.op(OpId::gt_Scalar_out, {x, 0.0}));
  const ValueId low = both(n, infinite, n.op(OpId::lt_Scalar_out, {x, 0.0}));
  y = n.op(OpId::masked_fill_Scalar_out, {y, high, n.number("posinf", limit)});
  n.output(n.op(OpId::masked_fill_Scalar_out, {y, low, n.number("neginf", -limit)}));
}

// Numbers take the type of the tensor that they stand beside.
// Without the two to choose from: where the condition holds.
void import_where(NodeContext& n) {
  const ValueId condition = n.tensor("condition");
  if (!n.has("self")) return n.outputs(places(n, condition));
  const bool self_is_number = is_bound_number(n.argument("self"));
  const ValueId self = self_is_number ? ValueId() : n.tensor("self");
  const ValueId other = is_bound_number(n.argument("other")) ? n.tensor("other", self) : n.tensor("other");
  n.output(n.op(OpId::where_self_out, {condition, self_is_number ? n.tensor("self", other) : self, other}));
}

void import_masked_fill(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const ValueId mask = n.tensor("mask");
  if (is_bound_number(n.argument("value"))) {
    return n.output(n.op(OpId::masked_fill_Scalar_out, {x, mask, n.scalar("value", Dim(0))}));
  }
  const ValueId value = n.cast(n.tensor("value"), n.dtype(x));
  n.output(n.op(OpId::where_self_out, {mask, value, x}));
}

// max(a, b) + log(1 + e^-|a - b|); equal infinities have no difference.
void import_logaddexp(NodeContext& n) {
  const ValueId a = n.tensor("self");
  const ValueId b = n.tensor("other");
  const ValueId top = n.op(OpId::maximum_out, {a, b});
  ValueId gap = n.op(OpId::neg_out, {n.op(OpId::abs_out, {n.op(OpId::sub_out, {a, b})})});
  gap = n.op(OpId::masked_fill_Scalar_out, {gap, n.op(OpId::isinf_out, {top}), -HUGE_VAL});
  n.output(n.op(OpId::add_out, {top, n.op(OpId::log1p_out, {n.op(OpId::exp_out, {gap})})}));
}

void import_hypot(NodeContext& n) { n.output(lowering::hypotenuse(n, n.tensor("self"), n.tensor("other"))); }

// 0 where a is 0, whatever log(b) is.
void import_xlogy(NodeContext& n) {
  const ValueId a = n.tensor("self");
  const ValueId b = n.tensor("other", a);
  const ValueId y = n.op(OpId::mul_out, {a, n.op(OpId::log_out, {b})});
  const ValueId zero =
      both(n, n.op(OpId::eq_Scalar_out, {a, Dim(0)}), n.op(OpId::logical_not_out, {n.op(OpId::isnan_out, {b})}));
  n.output(n.op(OpId::masked_fill_Scalar_out, {y, zero, 0.0}));
}

/// Whether a number has a minus, as -0.0 has.
ValueId is_negative(NodeContext& n, ValueId x) {
  const ValueId below = n.op(OpId::lt_Scalar_out, {x, Dim(0)});
  if (!is_floating(n.dtype(x))) return below;
  return n.op(OpId::logical_or_out, {below, n.op(OpId::lt_Scalar_out, {n.op(OpId::reciprocal_out, {x}), Dim(0)})});
}

// Of two integers a float, as quotients are.
void import_copysign(NodeContext& n) {
  ValueId x = n.tensor("self");
  const ValueId sign = n.tensor("other", x);
  if (!is_floating(n.dtype(x))) x = n.cast(x, is_floating(n.dtype(sign)) ? n.dtype(sign) : DType::kF32);
  x = n.op(OpId::abs_out, {x});
  n.output(n.op(OpId::where_self_out, {is_negative(n, sign), n.op(OpId::neg_out, {x}), x}));
}

void import_signbit(NodeContext& n) { n.output(is_negative(n, n.tensor("self"))); }

void import_heaviside(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const ValueId values = n.tensor("values");
  const ValueId step = n.cast(n.op(OpId::gt_Scalar_out, {x, Dim(0)}), n.dtype(x));
  n.output(n.op(OpId::where_self_out, {n.op(OpId::eq_Scalar_out, {x, Dim(0)}), values, step}));
}

/// The other where one is NaN.
template <OpId id>
void import_ignoring_nan(NodeContext& n) {
  const ValueId a = n.tensor("self");
  const ValueId b = n.tensor("other");
  if (!is_floating(n.dtype(a)) && !is_floating(n.dtype(b))) return n.output(n.op(id, {a, b}));
  ValueId y = n.op(id, {a, b});
  y = n.op(OpId::where_self_out, {n.op(OpId::isnan_out, {a}), b, y});
  n.output(n.op(OpId::where_self_out, {n.op(OpId::isnan_out, {b}), a, y}));
}

void import_float_power(NodeContext& n) {
  const auto wide = [&](ValueId x) { return n.cast(x, DType::kF64); };
  if (is_bound_number(n.argument("self"))) {
    return n.output(n.op(OpId::pow_Scalar_out, {n.scalar("self", 0.0), wide(n.tensor("exponent"))}));
  }
  const ValueId x = wide(n.tensor("self"));
  if (is_bound_number(n.argument("exponent"))) {
    return n.output(n.op(OpId::pow_Tensor_Scalar_out, {x, n.scalar("exponent", 1.0)}));
  }
  n.output(n.op(OpId::pow_Tensor_Tensor_out, {x, wide(n.tensor("exponent"))}));
}

void import_scale(NodeContext& n, double factor) {
  ValueId x = n.tensor("self");
  if (!is_floating(n.dtype(x))) x = n.cast(x, DType::kF32);
  n.output(n.op(OpId::mul_Scalar_out, {x, factor}));
}
void import_deg2rad(NodeContext& n) { import_scale(n, 0.017453292519943295); }
void import_rad2deg(NodeContext& n) { import_scale(n, 57.29577951308232); }

void import_sinc(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const ValueId angle = n.op(OpId::mul_Scalar_out, {x, 3.141592653589793});
  const ValueId y = n.op(OpId::div_out, {n.op(OpId::sin_out, {angle}), angle});
  n.output(n.op(OpId::masked_fill_Scalar_out, {y, n.op(OpId::eq_Scalar_out, {x, Dim(0)}), 1.0}));
}

void import_zero(NodeContext& n) { n.output(n.op(OpId::full_like_out, {n.tensor("self"), Dim(0)})); }

// Rounds to a number of decimals.
void import_round_decimals(NodeContext& n) {
  const ValueId x = n.tensor("self");
  const int64_t decimals = n.integer("decimals", 0);
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  const ValueId large = n.op(decimals < 0 ? OpId::div_Scalar_out : OpId::mul_Scalar_out, {x, scale});
  const ValueId rounded = n.op(OpId::round_out, {large});
  n.output(n.op(decimals < 0 ? OpId::mul_Scalar_out : OpId::div_Scalar_out, {rounded, scale}));
}

constexpr OperatorRow kPointwiseRows[] = {
    {"__and__", import_binary<OpId::bitwise_and_Tensor_out>},
    {"__lshift__", import_binary<OpId::bitwise_left_shift_Tensor_out>},
    {"__or__", import_binary<OpId::bitwise_or_Tensor_out>},
    {"__rshift__", import_binary<OpId::bitwise_right_shift_Tensor_out>},
    {"__xor__", import_binary<OpId::bitwise_xor_Tensor_out>},
    {"_neg_view", import_unary<OpId::neg_out>},
    {"absolute", import_unary<OpId::abs_out>},
    {"addcdiv", import_addcdiv},
    {"addcmul", import_addcmul},
    {"arccos", import_unary<OpId::acos_out>},
    {"arcsin", import_unary<OpId::asin_out>},
    {"arctan", import_unary<OpId::atan_out>},
    {"arctan2", import_binary<OpId::atan2_out>},
    {"clamp", import_clamp},
    {"clamp_max", import_clamp},
    {"clamp_min", import_clamp},
    {"clip", import_clamp},
    {"copysign", import_copysign},
    {"deg2rad", import_deg2rad},
    {"divide", import_divide},
    {"erfc", import_erfc},
    {"exp2", import_exp2},
    {"fix", import_unary<OpId::trunc_out>},
    {"float_power", import_float_power},
    {"fmax", import_ignoring_nan<OpId::maximum_out>},
    {"fmin", import_ignoring_nan<OpId::minimum_out>},
    {"frac", import_frac},
    {"greater", import_binary<OpId::gt_Tensor_out>},
    {"greater_equal", import_binary<OpId::ge_Tensor_out>},
    {"heaviside", import_heaviside},
    {"hypot", import_hypot},
    {"isclose", import_isclose},
    {"isfinite", import_isfinite},
    {"isneginf", import_isneginf},
    {"isposinf", import_isposinf},
    {"ldexp", import_ldexp},
    {"lerp", import_lerp},
    {"less", import_binary<OpId::lt_Tensor_out>},
    {"less_equal", import_binary<OpId::le_Tensor_out>},
    {"logaddexp", import_logaddexp},
    {"masked_fill", import_masked_fill},
    {"max.other", import_binary<OpId::maximum_out>},
    {"min.other", import_binary<OpId::minimum_out>},
    {"multiply", import_binary<OpId::mul_out>},
    {"nan_to_num", import_nan_to_num},
    {"negative", import_unary<OpId::neg_out>},
    {"not_equal", import_binary<OpId::ne_Tensor_out>},
    {"rad2deg", import_rad2deg},
    {"round.decimals", import_round_decimals},
    {"rsub", import_rsub},
    {"sgn", import_unary<OpId::sign_out>},
    {"signbit", import_signbit},
    {"sinc", import_sinc},
    {"special_expit", import_unary<OpId::sigmoid_out>},
    {"square", import_square},
    {"subtract", import_subtract},
    {"true_divide", import_divide},
    {"where", import_where},
    {"xlogy", import_xlogy},
    {"zero", import_zero},
};

}  // namespace

OperatorTable pointwise_operators() { return kPointwiseRows; }

}  // namespace berth::pt2
