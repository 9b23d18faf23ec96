// What happens to sums before they are stored: bias, residual, activation. Included once for each instruction set.
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_TILES_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_TILES_FINISH_INL_H_
#undef BERTH_CPU_TILES_FINISH_INL_H_
#else
#define BERTH_CPU_TILES_FINISH_INL_H_
#endif

#include <cmath>

#include "kernels/cpu/simd_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {

/// Channels [first, first + count) of the result, of all groups together.
struct Columns {
  int64_t first, count;
};

/// Whether `position` is one of an axis of `size`, and not in the padding.
HWY_INLINE bool inside(int64_t position, int64_t size) {
  return static_cast<uint64_t>(position) < static_cast<uint64_t>(size);
}

/// Activations that activate_simply has; the others are done in memory, on what was stored.
HWY_INLINE bool is_simple(portable::ActivationKind kind) {
  return kind != portable::ActivationKind::kTanh && kind != portable::ActivationKind::kElu;
}

/// 1 / (1 + e^-x)
HWY_INLINE FloatVector sigmoid(FloatVector x) {
  const FloatTag d;
  const FloatVector one = hn::Set(d, 1.0f);
  const FloatVector e = exp_of_negative(hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

/// x times the part of a normal distribution that is below x. The binary logarithm of the part above t is a polynomial
/// in t, to 4e-7 where that part is more than 2e-9; farther out it counts as 0. (Both polynomials were fitted for this
/// file at Chebyshev's nodes.)
HWY_INLINE FloatVector gelu(FloatVector x) {
  constexpr float kLogarithm[] = {-1.272706740e-08f, 4.254099508e-07f,  -6.056043730e-06f, 4.597072257e-05f,
                                  -1.666738681e-04f, -2.557001135e-04f, 7.294064853e-03f,  -5.270807818e-02f,
                                  -4.591180980e-01f, -1.151119351e+00f, -9.999996424e-01f};
  constexpr float kPower[] = {1.340043265e-03f, 9.676037356e-03f, 5.550327152e-02f,
                              2.402210683e-01f, 6.931471825e-01f, 1.000000119e+00f};
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const FloatVector t = hn::Abs(x);
  FloatVector p = hn::Set(d, kLogarithm[0]);
  BERTH_UNROLL_FULL
  for (int i = 1; i < 11; ++i) p = hn::MulAdd(p, t, hn::Set(d, kLogarithm[i]));
  const FloatVector round = hn::Set(d, 12582912.0f);  // 1.5 * 2^23
  const FloatVector shifted = hn::Add(p, round);
  const FloatVector rest = hn::Sub(p, hn::Sub(shifted, round));
  FloatVector power = hn::Set(d, kPower[0]);
  BERTH_UNROLL_FULL
  for (int i = 1; i < 6; ++i) power = hn::MulAdd(power, rest, hn::Set(d, kPower[i]));
  // The low bits of `shifted` are the whole part of the logarithm: they go to the exponent.
  const auto scaled = hn::Add(hn::BitCast(di, power), hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  const FloatVector above = hn::IfThenZeroElse(hn::Gt(t, hn::Set(d, 5.9f)), hn::BitCast(d, scaled));
  const FloatVector below = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), above, hn::Sub(hn::Set(d, 1.0f), above));
  return hn::Mul(x, below);
}

/// The same with the part below x taken as sigmoid(1.5957691 (x + 0.044715 x^3)).
HWY_INLINE FloatVector gelu_tanh(FloatVector x) {
  const FloatTag d;
  const FloatVector cube = hn::Mul(hn::Mul(x, x), x);
  const FloatVector inner = hn::MulAdd(hn::Set(d, 0.044715f), cube, x);
  return hn::Mul(x, sigmoid(hn::Mul(hn::Set(d, 1.59576912f), inner)));
}

/// NaN stays NaN.
HWY_INLINE FloatVector within(FloatVector low, FloatVector high, FloatVector x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  // These give their second argument then.
  return hn::Min(high, hn::Max(low, x));
#else
  const FloatVector raised = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(raised, high), high, raised);
#endif
}

HWY_INLINE FloatVector activate_simply(const portable::Activation& activation, FloatVector x) {
  using Kind = portable::ActivationKind;
  const FloatTag d;
  const auto bounded = [&](float low, float high, FloatVector y) {
    return within(hn::Set(d, low), hn::Set(d, high), y);
  };
  switch (activation.kind) {
    case Kind::kRelu: return bounded(0, INFINITY, x);
    case Kind::kClamp: return bounded(activation.alpha, activation.beta, x);
    case Kind::kLeakyRelu: return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, hn::Set(d, activation.alpha)));
    case Kind::kHardSigmoid: return hn::Mul(bounded(0, 6, hn::Add(x, hn::Set(d, 3))), hn::Set(d, 1.0f / 6));
    case Kind::kHardSwish: return hn::Mul(hn::Mul(x, bounded(0, 6, hn::Add(x, hn::Set(d, 3)))), hn::Set(d, 1.0f / 6));
    case Kind::kSigmoid: return sigmoid(x);
    case Kind::kSilu: return hn::Mul(x, sigmoid(x));
    case Kind::kGelu: return gelu(x);
    case Kind::kGeluTanh: return gelu_tanh(x);
    default: return x;
  }
}

/// f of each of `count` numbers, in place, a register at a time.
template <typename F>
HWY_INLINE void change_run(float* numbers, int64_t count, F f) {
  const FloatTag d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(f(hn::LoadU(d, numbers + i)), d, numbers + i);
  if (i < count) store_part(f(load_part(numbers + i, count - i)), numbers + i, count - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif
