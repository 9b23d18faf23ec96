#include "kernels/portable/elementwise_arguments.h"

#include <cstring>
#include <limits>

namespace berth::portable {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

bool is_text(StringRef text, const char* wanted) {
  return text.size == std::strlen(wanted) && std::memcmp(text.data, wanted, text.size) == 0;
}

// Both readings of a limit. One that is a fraction is not a limit of integers: they are clamped as floats.
void set_limit(const EValue& limit, int i, Scalars* scalars) {
  if (limit.is_none()) {
    scalars->real[i] = i == 0 ? -kInfinity : kInfinity;
    scalars->whole[i] = i == 0 ? kLeast : kMost;
    return;
  }
  scalars->real[i] = limit.scalar_to<double>();
  if (!limit.is_double()) scalars->whole[i] = limit.scalar_to<int64_t>();
}

}  // namespace

Error read_alpha(KernelContext& context, const EValue& alpha, int factor, DType common, Scalars* scalars) {
  scalars->real[0] = factor * alpha.scalar_to<double>();
  if (!alpha.is_double()) {
    // Unsigned, where wrapping is defined.
    const auto whole = static_cast<uint64_t>(alpha.scalar_to<int64_t>());
    scalars->whole[0] = static_cast<int64_t>(factor < 0 ? -whole : whole);
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

Error read_rounding(KernelContext& context, const std::optional<StringRef>& mode, Rounding* out) {
  *out = Rounding::kNone;
  if (!mode.has_value()) return Error::kOk;
  *out = is_text(*mode, "trunc") ? Rounding::kTrunc : Rounding::kFloor;
  if (*out == Rounding::kTrunc || is_text(*mode, "floor")) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "rounding_mode must be None, 'trunc' or 'floor'");
}

Error divided_by_zero(KernelContext& context) {
  return context.fail(Error::kInvalidArgument, "integer division by zero");
}

Error check_scalar_divisor(KernelContext& context, const EValue& divisor, DType common) {
  if (common == DType::kBool) return unsupported_dtype(context);
  if (!is_integer(common)) return Error::kOk;
  // The scalar wraps to the tensor's type before it divides.
  const ScalarElement element(divisor, common, DType::kI64);
  int64_t whole = 0;
  std::memcpy(&whole, element.bytes, sizeof whole);
  return whole != 0 ? Error::kOk : divided_by_zero(context);
}

ShortPower short_power(double exponent) {
  if (exponent == 2) return ShortPower::kSquare;
  if (exponent == 3) return ShortPower::kCube;
  if (exponent == 0.5) return ShortPower::kRoot;
  if (exponent == -1) return ShortPower::kInverse;
  if (exponent == -2) return ShortPower::kInverseSquare;
  if (exponent == -0.5) return ShortPower::kInverseRoot;
  return ShortPower::kNone;
}

Error check_exponent(KernelContext& context, const EValue& exponent, DType common) {
  if (common == DType::kBool) return unsupported_dtype(context);
  if (is_floating(common) || exponent.scalar_to<int64_t>() >= 0) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "integers to negative integer powers are not defined");
}

Error read_bits(KernelContext& context, DType common, bool shifts, Scalars* scalars) {
  if (!is_integer(common) && (common != DType::kBool || shifts)) {
    return context.fail(Error::kInvalidArgument, "this operator takes integer tensors only");
  }
  scalars->whole[0] = static_cast<int64_t>(element_size(common)) * 8;
  return Error::kOk;
}

Error require_limit(KernelContext& context, bool has_limit) {
  if (has_limit) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "clamp needs at least one of min and max");
}

Scalars read_limits(const EValue& low, const EValue& high) {
  Scalars scalars;
  set_limit(low, 0, &scalars);
  set_limit(high, 1, &scalars);
  return scalars;
}

DType promote_limits(DType dtype, const EValue& low, const EValue& high) {
  if (!low.is_none()) dtype = promote_scalar(dtype, low);
  return high.is_none() ? dtype : promote_scalar(dtype, high);
}

Error require_floating(KernelContext& context, const Tensor& self) {
  if (is_floating(self.dtype())) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "this operator takes floating-point tensors only");
}

Error read_approximate(KernelContext& context, StringRef approximate, bool* is_tanh) {
  *is_tanh = is_text(approximate, "tanh");
  if (*is_tanh || is_text(approximate, "none")) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "gelu's approximate must be 'none' or 'tanh'");
}

Error check_condition(KernelContext& context, const Tensor& condition) {
  if (condition.dtype() == DType::kBool || condition.dtype() == DType::kU8) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "the condition must be a bool tensor");
}

Error TensorLimits::read(KernelContext& context, const Tensor& self, const Tensor* low, const Tensor* high) {
  BERTH_RETURN_IF_ERROR(require_limit(context, low != nullptr || high != nullptr));
  common_ = self.dtype();
  for (const Tensor* limit : {low, high}) {
    if (limit != nullptr) common_ = promote_types(common_, limit->dtype());
  }
  if (!is_real(common_) || common_ == DType::kBool) return unsupported_dtype(context);
  const bool is_u64 = common_ == DType::kU64;
  compute_ = is_u64 ? DType::kU64 : compute_dtype(common_);
  const bool floating = is_floating(common_);
  lowest_ = ScalarElement(floating ? EValue(-kInfinity) : EValue(is_u64 ? int64_t{0} : kLeast), compute_, compute_);
  // -1 is all bits, the largest of u64.
  highest_ = ScalarElement(floating ? EValue(kInfinity) : EValue(is_u64 ? int64_t{-1} : kMost), compute_, compute_);
  inputs_[0] = {&self, compute_, common_, nullptr};
  inputs_[1] = {low, compute_, common_, lowest_.bytes};
  inputs_[2] = {high, compute_, common_, highest_.bytes};
  return Error::kOk;
}

}  // namespace berth::portable
