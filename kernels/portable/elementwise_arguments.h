// What element-wise operators read from their scalars, checked before a loop runs. Shared by every set of kernels, so
// that all of them refuse the same things in the same words.
#pragma once

#include "kernels/portable/promotion.h"
#include "runtime/arguments.h"

namespace berth::portable {

/// The common dtype of both.
inline DType promoted(const Tensor& a, const Tensor& b) { return promote_types(a.dtype(), b.dtype()); }

// --- add, sub, rsub.

/// `factor` (1 or -1) times `alpha`, as a real number and as a whole one, to entry 0 of `*scalars`. InvalidArgument for
/// a floating-point alpha of integers. Of bools, any alpha but zero takes all of the second tensor.
Error read_alpha(KernelContext& context, const EValue& alpha, int factor, DType common, Scalars* scalars);

/// Whether `alpha` is 1, for which there is a shorter loop.
inline bool is_one(const EValue& alpha) {
  return alpha.is_double() ? alpha.to_double() == 1 : alpha.scalar_to<int64_t>() == 1;
}

/// InvalidArgument for a subtraction of bools.
Error refuse_bool(KernelContext& context, bool is_bool);

// --- Division.

enum class Rounding { kNone, kTrunc, kFloor };

/// rounding_mode: None, 'trunc' or 'floor'.
Error read_rounding(KernelContext& context, const std::optional<StringRef>& mode, Rounding* out);

/// InvalidArgument: a whole number was to be divided by zero.
Error divided_by_zero(KernelContext& context);

/// InvalidArgument when `divisor` is zero once it is of the integer dtype `common`; unsupported when that is bool.
Error check_scalar_divisor(KernelContext& context, const EValue& divisor, DType common);

// --- Powers.

/// The exponents of floats that are products and roots.
enum class ShortPower { kNone, kSquare, kCube, kRoot, kInverse, kInverseSquare, kInverseRoot };
ShortPower short_power(double exponent);

/// For a power with a scalar exponent: unsupported when `common` is bool; InvalidArgument for integers to a negative
/// power.
Error check_exponent(KernelContext& context, const EValue& exponent, DType common);

// --- Bits.

/// The bitwise operators and shifts, in the common dtype of their arguments: its bits in whole number 0 of `*scalars`.
/// InvalidArgument unless it is an integer, or bool where nothing `shifts`.
Error read_bits(KernelContext& context, DType common, bool shifts, Scalars* scalars);

// --- Limits and activations.

/// InvalidArgument when clamp has neither of its limits.
Error require_limit(KernelContext& context, bool has_limit);

/// clamp's and hardtanh's limits as entries 0 and 1, each as a real number and as a whole one; None is not a limit.
Scalars read_limits(const EValue& low, const EValue& high);

/// The dtype that a clamp to scalars is in.
DType promote_limits(DType dtype, const EValue& low, const EValue& high);

/// InvalidArgument unless `self` is floating.
Error require_floating(KernelContext& context, const Tensor& self);

/// gelu's approximate: 'none' or 'tanh'.
Error read_approximate(KernelContext& context, StringRef approximate, bool* is_tanh);

// --- Choices.

/// InvalidArgument unless the condition is bool (or u8, as it once was).
Error check_condition(KernelContext& context, const Tensor& condition);

/// clamp with tensors as limits, either of which may be None: self and both limits, in the dtype that they share.
class TensorLimits {
 public:
  TensorLimits() = default;
  TensorLimits(const TensorLimits&) = delete;
  TensorLimits& operator=(const TensorLimits&) = delete;

  /// `self` and the limits are read until the object goes. REQUIRES: called once.
  Error read(KernelContext& context, const Tensor& self, const Tensor* low, const Tensor* high);

  DType common() const { return common_; }
  DType compute() const { return compute_; }
  Span<const Input> inputs() const { return inputs_; }

 private:
  DType common_ = DType::kF32;
  DType compute_ = DType::kF32;
  ScalarElement lowest_{EValue(0.0), DType::kF64, DType::kF64};
  ScalarElement highest_{EValue(0.0), DType::kF64, DType::kF64};
  Input inputs_[3];
};

}  // namespace berth::portable
