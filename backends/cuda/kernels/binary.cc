// Element-wise operators on two and three operands.
#include <cstring>
#include <limits>

#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/kernels.h"
#include "kernels/portable/promotion.h"

namespace berth::cuda {
namespace {

using portable::compute_dtype;
using portable::promote_scalar;
using portable::promote_to_floating;

DType promoted(Span<EValue* const> args) { return promote_types(args[0]->tensor().dtype(), args[1]->tensor().dtype()); }

// `factor` (1 or -1) times alpha.
Error read_alpha(KernelContext& context, const EValue& alpha, int factor, DType common, Scalars* scalars) {
  scalars->real[0] = factor * alpha.scalar_to<double>();
  if (!alpha.is_double()) {
    const auto whole = static_cast<uint64_t>(alpha.scalar_to<int64_t>());
    scalars->whole[0] = static_cast<int64_t>(factor < 0 ? -whole : whole);
    // Of bools, any alpha but zero takes all of the second tensor.
    if (common == DType::kBool && scalars->whole[0] != 0) scalars->whole[0] = 1;
  } else if (!is_floating(common)) {
    return context.fail(Error::kInvalidArgument, "alpha must not be a floating-point number when tensors are integers");
  }
  return Error::kOk;
}

Error refuse_bool(KernelContext& context, bool is_bool) {
  if (!is_bool) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "subtraction does not take bool tensors; use logical_xor");
}

// a + factor * alpha * b.
Error add_tensors(KernelContext& context, Span<EValue* const> args, int factor, Op plain) {
  const DType common = promoted(args);
  Scalars scalars;
  BERTH_RETURN_IF_ERROR(read_alpha(context, *args[2], factor, common, &scalars));
  const bool is_one = args[2]->is_double() ? args[2]->real() == 1 : args[2]->scalar_to<int64_t>() == 1;
  return run_binary(context, args[0]->tensor(), args[1]->tensor(), args[3]->tensor(), common,
                    is_one ? plain : Op::kAddScaled, scalars);
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
  if (common == DType::kBool) return portable::unsupported_dtype(context);
  if (is_integer(common)) {
    // The scalar wraps to the tensor's type before it divides.
    const portable::ScalarElement element(other, common, DType::kI64);
    int64_t whole = 0;
    std::memcpy(&whole, element.bytes, sizeof whole);
    if (whole == 0) return context.fail(Error::kInvalidArgument, "integer division by zero");
  }
  return run_binary_scalar(context, self, other, out, common, op);
}

Op trunc_op(DType common) {
  return common == DType::kF16 || common == DType::kBF16 ? Op::kDivTruncRounded : Op::kDivTrunc;
}

enum class Rounding { kNone, kTrunc, kFloor, kUnknown };

Rounding read_rounding(const EValue& mode) {
  if (mode.is_none()) return Rounding::kNone;
  const StringRef text = mode.text();
  if (text.size != 5) return Rounding::kUnknown;
  if (std::memcmp(text.data, "trunc", 5) == 0) return Rounding::kTrunc;
  return std::memcmp(text.data, "floor", 5) == 0 ? Rounding::kFloor : Rounding::kUnknown;
}

Error unknown_rounding(KernelContext& context) {
  return context.fail(Error::kInvalidArgument, "rounding_mode must be None, 'trunc' or 'floor'");
}

Error run_bits(KernelContext& context, Span<EValue* const> args, Op op, bool shifts) {
  const Tensor& self = args[0]->tensor();
  const EValue& other = *args[1];
  Tensor& out = args[2]->tensor();
  const DType common =
      other.is_tensor() ? promote_types(self.dtype(), other.tensor().dtype()) : promote_scalar(self.dtype(), other);
  if (!is_integer(common) && (common != DType::kBool || shifts)) {
    return context.fail(Error::kInvalidArgument, "this operator takes integer tensors only");
  }
  Scalars scalars;
  scalars.whole[0] = static_cast<int64_t>(element_size(common)) * 8;
  if (other.is_tensor()) return run_binary(context, self, other.tensor(), out, common, op, scalars);
  return run_binary_scalar(context, self, other, out, common, op, false, scalars);
}

// The exponents that need no pow, as the portable kernel takes them.
bool short_power(double exponent, Op* op) {
  if (exponent == 2) return *op = Op::kSquare, true;
  if (exponent == 3) return *op = Op::kCube, true;
  if (exponent == 0.5) return *op = Op::kSqrt, true;
  if (exponent == -1) return *op = Op::kReciprocal, true;
  if (exponent == -2) return *op = Op::kInverseSquare, true;
  if (exponent == -0.5) return *op = Op::kRsqrt, true;
  return false;
}

Error check_condition(KernelContext& context, const Tensor& condition) {
  if (condition.dtype() == DType::kBool || condition.dtype() == DType::kU8) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "the condition must be a bool tensor");
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
  Tensor& out = args[3]->tensor();
  EValue* const plain[] = {args[0], args[1], args[3]};
  switch (read_rounding(*args[2])) {
    case Rounding::kNone: return div_out(context, plain);
    case Rounding::kTrunc: return run_division(context, a, b, out, trunc_op(promote_types(a.dtype(), b.dtype())));
    case Rounding::kFloor: return run_division(context, a, b, out, Op::kDivFloor);
    case Rounding::kUnknown: break;
  }
  return unknown_rounding(context);
}

Error div_Scalar_mode_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[3]->tensor();
  EValue* const plain[] = {args[0], args[1], args[3]};
  switch (read_rounding(*args[2])) {
    case Rounding::kNone: return div_Scalar_out(context, plain);
    case Rounding::kTrunc: return run_division_scalar(context, self, *args[1], out, trunc_op(self.dtype()));
    case Rounding::kFloor: return run_division_scalar(context, self, *args[1], out, Op::kDivFloor);
    case Rounding::kUnknown: break;
  }
  return unknown_rounding(context);
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
  if (common == DType::kBool) return portable::unsupported_dtype(context);
  if (!is_floating(common) && exponent.scalar_to<int64_t>() < 0) {
    return context.fail(Error::kInvalidArgument, "integers to negative integer powers are not defined");
  }
  Op op = Op::kPow;
  if (is_floating(common) && short_power(exponent.scalar_to<double>(), &op)) {
    return run_as(context, self, args[2]->tensor(), common, op);
  }
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
  const Tensor& self = args[0]->tensor();
  if (args[1]->is_none() && args[2]->is_none()) {
    return context.fail(Error::kInvalidArgument, "clamp needs at least one of min and max");
  }
  DType common = self.dtype();
  for (size_t k = 1; k <= 2; ++k) {
    if (args[k]->is_tensor()) common = promote_types(common, args[k]->tensor().dtype());
  }
  if (!portable::is_real(common) || common == DType::kBool) return portable::unsupported_dtype(context);
  const DType compute = compute_dtype(common);
  const double infinity = std::numeric_limits<double>::infinity();
  const EValue limits[] = {is_floating(common) ? EValue(-infinity) : EValue(std::numeric_limits<int64_t>::min()),
                           is_floating(common) ? EValue(infinity) : EValue(std::numeric_limits<int64_t>::max())};
  const portable::ScalarElement low(limits[0], compute, compute);
  const portable::ScalarElement high(limits[1], compute, compute);
  const Input inputs[] = {{&self, compute, common, nullptr},
                          {args[1]->is_tensor() ? &args[1]->tensor() : nullptr, compute, common, low.bytes},
                          {args[2]->is_tensor() ? &args[2]->tensor() : nullptr, compute, common, high.bytes}};
  return run_elementwise(context, Op::kClampTensor, compute, {&args[3]->tensor(), compute, common}, inputs, Scalars());
}

}  // namespace berth::cuda
