// What happens to sums before they are stored: bias, residual, activation. Included once for each instruction set.
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_TILES_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_TILES_FINISH_INL_H_
#undef BERTH_CPU_TILES_FINISH_INL_H_
#else
#define BERTH_CPU_TILES_FINISH_INL_H_
#endif

#include "kernels/cpu/simd_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {

/// Channels [first, first + count) of the result, of all groups together.
struct Columns {
  int64_t first, count;
};

/// Activations of a few instructions; the others are done in memory, on what was stored.
HWY_INLINE bool is_simple(portable::ActivationKind kind) {
  using Kind = portable::ActivationKind;
  return kind == Kind::kNone || kind == Kind::kRelu || kind == Kind::kClamp || kind == Kind::kLeakyRelu ||
         kind == Kind::kHardSigmoid || kind == Kind::kHardSwish;
}

HWY_INLINE FloatVector activate_simply(const portable::Activation& activation, FloatVector x) {
  using Kind = portable::ActivationKind;
  const FloatTag d;
  const auto bounded = [&](float low, float high, FloatVector y) {
    return hn::Min(hn::Max(y, hn::Set(d, low)), hn::Set(d, high));
  };
  switch (activation.kind) {
    case Kind::kRelu: return hn::Max(x, hn::Zero(d));
    case Kind::kClamp: return bounded(activation.alpha, activation.beta, x);
    case Kind::kLeakyRelu: return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, hn::Set(d, activation.alpha)));
    case Kind::kHardSigmoid: return hn::Mul(bounded(0, 6, hn::Add(x, hn::Set(d, 3))), hn::Set(d, 1.0f / 6));
    case Kind::kHardSwish: return hn::Mul(hn::Mul(x, bounded(0, 6, hn::Add(x, hn::Set(d, 3)))), hn::Set(d, 1.0f / 6));
    default: return x;
  }
}

/// Stores the sums of the columns of one place. `out` is the place's first channel.
template <int kVectors>
HWY_INLINE void finish_row(const TileJob& job, const Columns& columns, const FloatVector (&sum)[kVectors], float* out) {
  const FloatTag d;
  float* to = out + columns.first;
  const bool simple = is_simple(job.activation.kind);
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) {
    const int64_t left = columns.count - v * kLanes;
    if (left <= 0) break;
    FloatVector y = sum[v];
    if (left >= kLanes) {
      if (job.bias != nullptr) y = hn::Add(y, hn::LoadU(d, job.bias + columns.first + v * kLanes));
      if (job.residual) y = hn::Add(y, hn::LoadU(d, to + v * kLanes));
      hn::StoreU(simple ? activate_simply(job.activation, y) : y, d, to + v * kLanes);
    } else {
      const auto mask = hn::FirstN(d, static_cast<size_t>(left));
      if (job.bias != nullptr) y = hn::Add(y, hn::MaskedLoad(mask, d, job.bias + columns.first + v * kLanes));
      if (job.residual) y = hn::Add(y, hn::MaskedLoad(mask, d, to + v * kLanes));
      hn::BlendedStore(simple ? activate_simply(job.activation, y) : y, mask, d, to + v * kLanes);
    }
  }
  if (!simple) portable::activate(job.activation, to, columns.count);
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif
