// Element-wise operators on two and three operands.
#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/kernels.h"
#include "kernels/portable/elementwise_arguments.h"

namespace berth::cuda {
namespace {

using portable::check_condition;
using portable::compute_dtype;
using portable::promote_scalar;
using portable::promote_to_floating;
using portable::promoted;
using portable::read_alpha;
using portable::refuse_bool;
using portable::Rounding;
using portable::ShortPower;

// a + factor * alpha * b.
template <typename Args>
Error add_tensors(KernelContext& context, const Args& args, int factor, Op plain) {
  const DType common = promoted(args.self, args.other);
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(read_alpha(context, args.alpha, factor, common, &scalars));
  return run_binary(context, args.self, args.other, args.out, common,
                    portable::is_one(args.alpha) ? plain : Op::kAddScaled, scalars);
}

template <typename Args>
Error add_scalar(KernelContext& context, const Args& args, int factor, bool scalar_first) {
  const Tensor& self = args.self;
  const DType common = promote_scalar(self.dtype(), args.other);
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(read_alpha(context, args.alpha, factor, common, &scalars));
  return run_binary_scalar(context, self, args.other, args.out, common, Op::kAddScaled, scalar_first, scalars);
}

Error run_division(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out, Op op) {
  const DType common = promote_types(a.dtype(), b.dtype());
  if (common == DType::kBool) return portable::unsupported_dtype(context);
  return run_binary(context, a, b, out, common, op);
}

Error run_division_scalar(KernelContext& context, const Tensor& self, const EValue& other, Tensor& out, Op op) {
  const DType common = promote_scalar(self.dtype(), other);
  BERTH_RETURN_IF_ERROR(portable::check_scalar_divisor(context, other, common));
  return run_binary_scalar(context, self, other, out, common, op);
}

Error divide(KernelContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  return run_binary(context, a, b, out, promote_to_floating(promoted(a, b)), Op::kDiv);
}

Error divide_by_scalar(KernelContext& context, const Tensor& self, const EValue& other, Tensor& out) {
  return run_binary_scalar(context, self, other, out, promote_to_floating(promote_scalar(self.dtype(), other)),
                           Op::kDiv);
}

Op trunc_op(DType common) { return has_16_bits(common) ? Op::kDivTruncRounded : Op::kDivTrunc; }

template <typename Args>
Error run_bits(KernelContext& context, const Args& args, Op op, bool shifts) {
  const DType common = promoted(args.self, args.other);
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(portable::read_bits(context, common, shifts, &scalars));
  return run_binary(context, args.self, args.other, args.out, common, op, scalars);
}
template <typename Args>
Error run_scalar_bits(KernelContext& context, const Args& args, Op op, bool shifts) {
  const DType common = promote_scalar(args.self.dtype(), args.other);
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(portable::read_bits(context, common, shifts, &scalars));
  return run_binary_scalar(context, args.self, args.other, args.out, common, op, false, scalars);
}

Op power_op(double exponent) {
  switch (portable::short_power(exponent)) {
    case ShortPower::kSquare: return Op::kSquare;
    case ShortPower::kCube: return Op::kCube;
    case ShortPower::kRoot: return Op::kSqrt;
    case ShortPower::kInverse: return Op::kReciprocal;
    case ShortPower::kInverseSquare: return Op::kInverseSquare;
    case ShortPower::kInverseRoot: return Op::kRsqrt;
    case ShortPower::kNone: break;
  }
  return Op::kPow;
}

}  // namespace

#define COMPARE(name, op) \
  Error name##_Tensor_out(KernelContext& context, const arguments::name##_Tensor_out& args) { \
    return run_compare(context, args.self, args.other, args.out, op); \
  } \
  Error name##_Scalar_out(KernelContext& context, const arguments::name##_Scalar_out& args) { \
    return run_compare_scalar(context, args.self, args.other, args.out, op); \
  }
COMPARE(eq, Op::kEqual)
COMPARE(ne, Op::kNotEqual)
COMPARE(gt, Op::kGreater)
COMPARE(ge, Op::kGreaterEqual)
COMPARE(lt, Op::kLess)
COMPARE(le, Op::kLessEqual)
#undef COMPARE

#define LOGICAL(identifier, op) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    return run_compare(context, args.self, args.other, args.out, op); \
  }
LOGICAL(logical_and_out, Op::kLogicalAnd)
LOGICAL(logical_or_out, Op::kLogicalOr)
LOGICAL(logical_xor_out, Op::kLogicalXor)
#undef LOGICAL

#define BITS(identifier, run, op, shifts) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { return run(context, args, op, shifts); }
BITS(bitwise_and_Tensor_out, run_bits, Op::kBitAnd, false)
BITS(bitwise_and_Scalar_out, run_scalar_bits, Op::kBitAnd, false)
BITS(bitwise_or_Tensor_out, run_bits, Op::kBitOr, false)
BITS(bitwise_or_Scalar_out, run_scalar_bits, Op::kBitOr, false)
BITS(bitwise_xor_Tensor_out, run_bits, Op::kBitXor, false)
BITS(bitwise_xor_Scalar_out, run_scalar_bits, Op::kBitXor, false)
BITS(bitwise_left_shift_Tensor_out, run_bits, Op::kShiftLeft, true)
BITS(bitwise_left_shift_Tensor_Scalar_out, run_scalar_bits, Op::kShiftLeft, true)
BITS(bitwise_right_shift_Tensor_out, run_bits, Op::kShiftRight, true)
BITS(bitwise_right_shift_Tensor_Scalar_out, run_scalar_bits, Op::kShiftRight, true)
#undef BITS

#define PROMOTED(identifier, common, op) \
  Error identifier(KernelContext& context, const arguments::identifier& args) { \
    return run_binary(context, args.self, args.other, args.out, common, op); \
  }
PROMOTED(mul_out, promoted(args.self, args.other), Op::kMul)
PROMOTED(maximum_out, promoted(args.self, args.other), Op::kMaximum)
PROMOTED(minimum_out, promoted(args.self, args.other), Op::kMinimum)
PROMOTED(atan2_out, promote_to_floating(promoted(args.self, args.other)), Op::kAtan2)
#undef PROMOTED

Error add_out(KernelContext& context, const arguments::add_out& args) {
  return add_tensors(context, args, 1, Op::kAdd);
}

Error sub_out(KernelContext& context, const arguments::sub_out& args) {
  const bool is_bool = args.self.dtype() == DType::kBool || args.other.dtype() == DType::kBool;
  BERTH_RETURN_IF_ERROR(refuse_bool(context, is_bool));
  return add_tensors(context, args, -1, Op::kSub);
}

Error add_Scalar_out(KernelContext& context, const arguments::add_Scalar_out& args) {
  return add_scalar(context, args, 1, false);
}

Error sub_Scalar_out(KernelContext& context, const arguments::sub_Scalar_out& args) {
  BERTH_RETURN_IF_ERROR(refuse_bool(context, args.self.dtype() == DType::kBool || args.other.is_bool()));
  return add_scalar(context, args, -1, false);
}

Error rsub_Scalar_out(KernelContext& context, const arguments::rsub_Scalar_out& args) {
  BERTH_RETURN_IF_ERROR(refuse_bool(context, args.self.dtype() == DType::kBool || args.other.is_bool()));
  return add_scalar(context, args, -1, true);
}

Error mul_Scalar_out(KernelContext& context, const arguments::mul_Scalar_out& args) {
  const Tensor& self = args.self;
  return run_binary_scalar(context, self, args.other, args.out, promote_scalar(self.dtype(), args.other), Op::kMul);
}

Error div_out(KernelContext& context, const arguments::div_out& args) {
  return divide(context, args.self, args.other, args.out);
}

Error div_Scalar_out(KernelContext& context, const arguments::div_Scalar_out& args) {
  return divide_by_scalar(context, args.self, args.other, args.out);
}

Error div_out_mode(KernelContext& context, const arguments::div_out_mode& args) {
  const Tensor& a = args.self;
  const Tensor& b = args.other;
  Rounding rounding = Rounding::kNone;
  BERTH_RETURN_IF_ERROR(portable::read_rounding(context, args.rounding_mode, &rounding));
  if (rounding == Rounding::kNone) return divide(context, a, b, args.out);
  const bool truncates = rounding == Rounding::kTrunc;
  return run_division(context, a, b, args.out, truncates ? trunc_op(promoted(args.self, args.other)) : Op::kDivFloor);
}

Error div_Scalar_mode_out(KernelContext& context, const arguments::div_Scalar_mode_out& args) {
  const Tensor& self = args.self;
  Rounding rounding = Rounding::kNone;
  BERTH_RETURN_IF_ERROR(portable::read_rounding(context, args.rounding_mode, &rounding));
  if (rounding == Rounding::kNone) return divide_by_scalar(context, self, args.other, args.out);
  const bool truncates = rounding == Rounding::kTrunc;
  return run_division_scalar(context, self, args.other, args.out, truncates ? trunc_op(self.dtype()) : Op::kDivFloor);
}

Error floor_divide_out(KernelContext& context, const arguments::floor_divide_out& args) {
  return run_division(context, args.self, args.other, args.out, Op::kDivFloor);
}
Error fmod_Tensor_out(KernelContext& context, const arguments::fmod_Tensor_out& args) {
  return run_division(context, args.self, args.other, args.out, Op::kFmod);
}
Error fmod_Scalar_out(KernelContext& context, const arguments::fmod_Scalar_out& args) {
  return run_division_scalar(context, args.self, args.other, args.out, Op::kFmod);
}
Error remainder_Tensor_out(KernelContext& context, const arguments::remainder_Tensor_out& args) {
  return run_division(context, args.self, args.other, args.out, Op::kRemainder);
}
Error remainder_Scalar_out(KernelContext& context, const arguments::remainder_Scalar_out& args) {
  return run_division_scalar(context, args.self, args.other, args.out, Op::kRemainder);
}

Error pow_Tensor_Tensor_out(KernelContext& context, const arguments::pow_Tensor_Tensor_out& args) {
  const DType common = promoted(args.self, args.exponent);
  if (common == DType::kBool) return portable::unsupported_dtype(context);
  return run_binary(context, args.self, args.exponent, args.out, common, Op::kPow);
}

Error pow_Tensor_Scalar_out(KernelContext& context, const arguments::pow_Tensor_Scalar_out& args) {
  const Tensor& self = args.self;
  const EValue& exponent = args.exponent;
  const DType common = promote_scalar(self.dtype(), exponent);
  BERTH_RETURN_IF_ERROR(portable::check_exponent(context, exponent, common));
  const Op op = is_floating(common) ? power_op(exponent.scalar_to<double>()) : Op::kPow;
  if (op != Op::kPow) return run_as(context, self, args.out, common, op);
  return run_binary_scalar(context, self, exponent, args.out, common, Op::kPow);
}

Error pow_Scalar_out(KernelContext& context, const arguments::pow_Scalar_out& args) {
  const Tensor& exponent = args.exponent;
  const DType common = promote_scalar(exponent.dtype(), args.self);
  if (common == DType::kBool) return portable::unsupported_dtype(context);
  return run_binary_scalar(context, exponent, args.self, args.out, common, Op::kPow, true);
}

Error where_self_out(KernelContext& context, const arguments::where_self_out& args) {
  const Tensor& condition = args.condition;
  const Tensor& a = args.self;
  const Tensor& b = args.other;
  BERTH_RETURN_IF_ERROR(check_condition(context, condition));
  const DType common = promote_types(a.dtype(), b.dtype());
  const DType compute = compute_dtype(common);
  const Input inputs[] = {{&condition, DType::kBool, DType::kBool, nullptr},
                          {&a, compute, common, nullptr},
                          {&b, compute, common, nullptr}};
  return run_elementwise(context, Op::kSelect, compute, {&args.out, compute, common}, inputs, Scalars());
}

Error masked_fill_Scalar_out(KernelContext& context, const arguments::masked_fill_Scalar_out& args) {
  const Tensor& self = args.self;
  const Tensor& mask = args.mask;
  BERTH_RETURN_IF_ERROR(check_condition(context, mask));
  const DType common = self.dtype();
  if (!portable::is_real(common)) return portable::unsupported_dtype(context);
  const DType compute = compute_dtype(common);
  const portable::ScalarElement value(args.value, common, compute);
  const Input inputs[] = {{&mask, DType::kBool, DType::kBool, nullptr},
                          {nullptr, compute, common, value.bytes},
                          {&self, compute, common, nullptr}};
  return run_elementwise(context, Op::kSelect, compute, {&args.out, compute, common}, inputs, Scalars());
}

Error clamp_Tensor_out(KernelContext& context, const arguments::clamp_Tensor_out& args) {
  portable::TensorLimits limits;
  BERTH_RETURN_IF_ERROR(limits.read(context, args.self, args.min, args.max));
  const Output output = {&args.out, limits.compute(), limits.common()};
  return run_elementwise(context, Op::kClampTensor, limits.compute(), output, limits.inputs(), Scalars());
}

}  // namespace berth::cuda
