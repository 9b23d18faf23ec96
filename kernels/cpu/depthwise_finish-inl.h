// How depthwise sums begin and end: with the bias, and bounded on their way to memory. Included once for each
// instruction set.
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_DEPTHWISE_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_DEPTHWISE_FINISH_INL_H_
#undef BERTH_CPU_DEPTHWISE_FINISH_INL_H_
#else
#define BERTH_CPU_DEPTHWISE_FINISH_INL_H_
#endif

#include <limits>

#include "kernels/cpu/tiles_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {

/// Where a load under a mask takes no longer than another, strips of whole registers go through the forms for parts of
/// them: half as much code.
constexpr bool kAlwaysMasked = HWY_TARGET == HWY_AVX3;

/// The last channels may not fill a register: then kPart.
template <bool kPart>
HWY_INLINE FloatVector load_channels(const float* from, int64_t count) {
  if constexpr (kPart) return load_part(from, count);
  return hn::LoadU(FloatTag(), from);
}

/// x, where it is not less than `low` (not more than `high`); NaN for NaN. Processors' own instructions give the second
/// operand where one is NaN; loops that stand in for them do not.
HWY_INLINE FloatVector at_least(FloatVector low, FloatVector x) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || !HWY_ARCH_X86
  return hn::IfThenElse(hn::Lt(x, low), low, x);
#else
  return hn::Max(low, x);
#endif
}
HWY_INLINE FloatVector at_most(FloatVector high, FloatVector x) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || !HWY_ARCH_X86
  return hn::IfThenElse(hn::Gt(x, high), high, x);
#else
  return hn::Min(high, x);
#endif
}

/// Whether end_sum() leaves the activation to a pass over what it stored.
inline bool activates_later(portable::ActivationKind kind) {
  using Kind = portable::ActivationKind;
  return kind != Kind::kNone && kind != Kind::kRelu && kind != Kind::kClamp && kind != Kind::kHardSwish;
}

namespace {

/// That pass. Those that models have most often are done as in the ends of tiles.
HWY_MAYBE_UNUSED HWY_NOINLINE void activate_stored(const portable::Activation& activation, float* out, int64_t count) {
  using Kind = portable::ActivationKind;
  switch (activation.kind) {
    case Kind::kGelu: return change_run(out, count, [](FloatVector x) HWY_ATTR { return gelu(x); });
    case Kind::kSilu: return change_run(out, count, [](FloatVector x) HWY_ATTR { return hn::Mul(x, sigmoid(x)); });
    case Kind::kSigmoid: return change_run(out, count, [](FloatVector x) HWY_ATTR { return sigmoid(x); });
    default: return portable::activate(activation, out, count);
  }
}

}  // namespace

/// Of one register of channels.
struct SumEnds {
  FloatVector bias, low, high;
  bool residual, swish;
};

/// `Job` has bias, residual and activation.
template <bool kPart, typename Job>
HWY_INLINE SumEnds ends_of(const Job& job, const Columns& columns) {
  using Kind = portable::ActivationKind;
  const FloatTag d;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const portable::Activation& a = job.activation;
  const float low = a.kind == Kind::kRelu ? 0 : a.kind == Kind::kClamp ? a.alpha : -kInfinity;
  const float high = a.kind == Kind::kClamp ? a.beta : kInfinity;
  return {job.bias == nullptr ? hn::Zero(d) : load_channels<kPart>(job.bias + columns.first, columns.count),
          hn::Set(d, low), hn::Set(d, high), job.residual, a.kind == Kind::kHardSwish};
}

/// Stores a sum that began with the bias.
template <bool kPart>
HWY_INLINE void end_sum(const SumEnds& ends, FloatVector sum, float* to, int64_t count) {
  const FloatTag d;
  if (ends.residual) sum = hn::Add(sum, load_channels<kPart>(to, count));
  if (ends.swish) {
    const FloatVector gate = at_most(hn::Set(d, 6), at_least(hn::Zero(d), hn::Add(sum, hn::Set(d, 3))));
    sum = hn::Mul(hn::Mul(sum, gate), hn::Set(d, 1.0f / 6));
  } else {
    sum = at_most(ends.high, at_least(ends.low, sum));
  }
  if (!kPart || (kAlwaysMasked && HWY_LIKELY(count == kLanes))) return hn::StoreU(sum, d, to);
  store_part(sum, to, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif
