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
Error add_tensors(KernelContext& context, Span<EValue* const> args, int factor, Op plain) {
  const DType common = promoted(args);
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(read_alpha(context, *args[2], factor, common, &scalars));
  return run_binary(context, args[0]->tensor(), args[1]->tensor(), args[3]->tensor(), common,
                    portable::is_one(*args[2]) ? plain : Op::kAddScaled, scalars);
}

Error add_scalar(KernelContext& context, Span<EValue* const> args, int factor, bool scalar_first) {
  const Tensor& self = args[0]->tensor();
  const DType common = promote_scalar(self.dtype(), *args[1]);
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(read_alpha(context, *args[2], factor, common, &scalars));
  return run_binary_scalar(context, self, *args[1], args[3]->tensor(), common, Op::kAddScaled, scalar_first, scalars);
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

Op trunc_op(DType common) {
  return common == DType::kF16 || common == DType::kBF16 ? Op::kDivTruncRounded : Op::kDivTrunc;
}

Error run_bits(KernelContext& context, Span<EValue* const> args, Op op, bool shifts) {
  const Tensor& self = args[0]->tensor();
  const EValue& other = *args[1];
  Tensor& out = args[2]->tensor();
  DType common = DType::kI64;
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(portable::read_bits(context, self, other, shifts, &common, &scalars));
  if (other.is_tensor()) return run_binary(context, self, other.tensor(), out, common, op, scalars);
  return run_binary_scalar(context, self, other, out, common, op, false, scalars);
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
  Error name##_Tensor_out(KernelContext& context, Span<EValue* const> args) { return run_compare(context, args, op); } \
  Error name##_Scalar_out(KernelContext& context, Span<EValue* const> args) { \
    return run_compare_scalar(context, args, op); \
  }
COMPARE(eq, Op::kEqual)
COMPARE(ne, Op::kNotEqual)
COMPARE(gt, Op::kGreater)
COMPARE(ge, Op::kGreaterEqual)
COMPARE(lt, Op::kLess)
COMPARE(le, Op::kLessEqual)
#undef COMPARE

#define LOGICAL(identifier, op) \
  Error identifier(KernelContext& context, Span<EValue* const> args) { return run_compare(context, args, op); }
LOGICAL(logical_and_out, Op::kLogicalAnd)
LOGICAL(logical_or_out, Op::kLogicalOr)
LOGICAL(logical_xor_out, Op::kLogicalXor)
#undef LOGICAL

#define BITS(identifier, op, shifts) \
  Error identifier(KernelContext& context, Span<EValue* const> args) { return run_bits(context, args, op, shifts); }
BITS(bitwise_and_Tensor_out, Op::kBitAnd, false)
BITS(bitwise_and_Scalar_out, Op::kBitAnd, false)
BITS(bitwise_or_Tensor_out, Op::kBitOr, false)
BITS(bitwise_or_Scalar_out, Op::kBitOr, false)
BITS(bitwise_xor_Tensor_out, Op::kBitXor, false)
BITS(bitwise_xor_Scalar_out, Op::kBitXor, false)
BITS(bitwise_left_shift_Tensor_out, Op::kShiftLeft, true)
BITS(bitwise_left_shift_Tensor_Scalar_out, Op::kShiftLeft, true)
BITS(bitwise_right_shift_Tensor_out, Op::kShiftRight, true)
BITS(bitwise_right_shift_Tensor_Scalar_out, Op::kShiftRight, true)
#undef BITS

#define PROMOTED(identifier, common, op) \
  Error identifier(KernelContext& context, Span<EValue* const> args) { \
    return run_binary(context, args[0]->tensor(), args[1]->tensor(), args[2]->tensor(), common, op); \
  }
PROMOTED(mul_out, promoted(args), Op::kMul)
PROMOTED(maximum_out, promoted(args), Op::kMaximum)
PROMOTED(minimum_out, promoted(args), Op::kMinimum)
PROMOTED(div_out, promote_to_floating(promoted(args)), Op::kDiv)
PROMOTED(atan2_out, promote_to_floating(promoted(args)), Op::kAtan2)
#undef PROMOTED

Error add_out(KernelContext& context, Span<EValue* const> args) { return add_tensors(context, args, 1, Op::kAdd); }

Error sub_out(KernelContext& context, Span<EValue* const> args) {
  const bool is_bool = args[0]->tensor().dtype() == DType::kBool || args[1]->tensor().dtype() == DType::kBool;
  BERTH_RETURN_IF_ERROR(refuse_bool(context, is_bool));
  return add_tensors(context, args, -1, Op::kSub);
}

Error add_Scalar_out(KernelContext& context, Span<EValue* const> args) { return add_scalar(context, args, 1, false); }

Error sub_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(refuse_bool(context, args[0]->tensor().dtype() == DType::kBool || args[1]->is_bool()));
  return add_scalar(context, args, -1, false);
}

Error rsub_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  BERTH_RETURN_IF_ERROR(refuse_bool(context, args[0]->tensor().dtype() == DType::kBool || args[1]->is_bool()));
  return add_scalar(context, args, -1, true);
}

Error mul_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  return run_binary_scalar(context, self, *args[1], args[2]->tensor(), promote_scalar(self.dtype(), *args[1]),
                           Op::kMul);
}

Error div_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  return run_binary_scalar(context, self, *args[1], args[2]->tensor(),
                           promote_to_floating(promote_scalar(self.dtype(), *args[1])), Op::kDiv);
}

Error div_out_mode(KernelContext& context, Span<EValue* const> args) {
  const Tensor& a = args[0]->tensor();
  const Tensor& b = args[1]->tensor();
  EValue* const plain[] = {args[0], args[1], args[3]};
  Rounding rounding = Rounding::kNone;
  BERTH_RETURN_IF_ERROR(portable::read_rounding(context, *args[2], &rounding));
  if (rounding == Rounding::kNone) return div_out(context, plain);
  const bool truncates = rounding == Rounding::kTrunc;
  return run_division(context, a, b, args[3]->tensor(), truncates ? trunc_op(promoted(args)) : Op::kDivFloor);
}

Error div_Scalar_mode_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  EValue* const plain[] = {args[0], args[1], args[3]};
  Rounding rounding = Rounding::kNone;
  BERTH_RETURN_IF_ERROR(portable::read_rounding(context, *args[2], &rounding));
  if (rounding == Rounding::kNone) return div_Scalar_out(context, plain);
  const bool truncates = rounding == Rounding::kTrunc;
  return run_division_scalar(context, self, *args[1], args[3]->tensor(),
                             truncates ? trunc_op(self.dtype()) : Op::kDivFloor);
}

Error floor_divide_out(KernelContext& context, Span<EValue* const> args) {
  return run_division(context, args[0]->tensor(), args[1]->tensor(), args[2]->tensor(), Op::kDivFloor);
}
Error fmod_Tensor_out(KernelContext& context, Span<EValue* const> args) {
  return run_division(context, args[0]->tensor(), args[1]->tensor(), args[2]->tensor(), Op::kFmod);
}
Error fmod_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  return run_division_scalar(context, args[0]->tensor(), *args[1], args[2]->tensor(), Op::kFmod);
}
Error remainder_Tensor_out(KernelContext& context, Span<EValue* const> args) {
  return run_division(context, args[0]->tensor(), args[1]->tensor(), args[2]->tensor(), Op::kRemainder);
}
Error remainder_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  return run_division_scalar(context, args[0]->tensor(), *args[1], args[2]->tensor(), Op::kRemainder);
}

Error pow_Tensor_Tensor_out(KernelContext& context, Span<EValue* const> args) {
  const DType common = promoted(args);
  if (common == DType::kBool) return portable::unsupported_dtype(context);
  return run_binary(context, args[0]->tensor(), args[1]->tensor(), args[2]->tensor(), common, Op::kPow);
}

Error pow_Tensor_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  const EValue& exponent = *args[1];
  const DType common = promote_scalar(self.dtype(), exponent);
  BERTH_RETURN_IF_ERROR(portable::check_exponent(context, exponent, common));
  const Op op = is_floating(common) ? power_op(exponent.scalar_to<double>()) : Op::kPow;
  if (op != Op::kPow) return run_as(context, self, args[2]->tensor(), common, op);
  return run_binary_scalar(context, self, exponent, args[2]->tensor(), common, Op::kPow);
}

Error pow_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& exponent = args[1]->tensor();
  const DType common = promote_scalar(exponent.dtype(), *args[0]);
  if (common == DType::kBool) return portable::unsupported_dtype(context);
  return run_binary_scalar(context, exponent, *args[0], args[2]->tensor(), common, Op::kPow, true);
}

Error where_self_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& condition = args[0]->tensor();
  const Tensor& a = args[1]->tensor();
  const Tensor& b = args[2]->tensor();
  BERTH_RETURN_IF_ERROR(check_condition(context, condition));
  const DType common = promote_types(a.dtype(), b.dtype());
  const DType compute = compute_dtype(common);
  const Input inputs[] = {{&condition, DType::kBool, DType::kBool, nullptr},
                          {&a, compute, common, nullptr},
                          {&b, compute, common, nullptr}};
  return run_elementwise(context, Op::kSelect, compute, {&args[3]->tensor(), compute, common}, inputs, Scalars());
}

Error masked_fill_Scalar_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  const Tensor& mask = args[1]->tensor();
  BERTH_RETURN_IF_ERROR(check_condition(context, mask));
  const DType common = self.dtype();
  if (!portable::is_real(common)) return portable::unsupported_dtype(context);
  const DType compute = compute_dtype(common);
  const portable::ScalarElement value(*args[2], common, compute);
  const Input inputs[] = {{&mask, DType::kBool, DType::kBool, nullptr},
                          {nullptr, compute, common, value.bytes},
                          {&self, compute, common, nullptr}};
  return run_elementwise(context, Op::kSelect, compute, {&args[3]->tensor(), compute, common}, inputs, Scalars());
}

Error clamp_Tensor_out(KernelContext& context, Span<EValue* const> args) {
  portable::TensorLimits limits;
  BERTH_RETURN_IF_ERROR(limits.read(context, args[0]->tensor(), *args[1], *args[2]));
  const Output output = {&args[3]->tensor(), limits.compute(), limits.common()};
  return run_elementwise(context, Op::kClampTensor, limits.compute(), output, limits.inputs(), Scalars());
}

}  // namespace berth::cuda
