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

// Instruction sets without masks would read and write whole registers, and others' elements with them.
#define BERTH_HAS_MASKS (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL)

/// The first `count` elements, less than a register has, and zeros.
HWY_INLINE FloatVector load_part(const float* from, int64_t count) {
  const FloatTag d;
#if BERTH_HAS_MASKS
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  HWY_ALIGN float whole[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) whole[i] = from[i];
  return hn::Load(d, whole);
#endif
}

HWY_INLINE void store_part(FloatVector x, float* to, int64_t count) {
  const FloatTag d;
#if BERTH_HAS_MASKS
  hn::BlendedStore(x, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#else
  HWY_ALIGN float whole[kLanes];
  hn::Store(x, d, whole);
  for (int64_t i = 0; i < count; ++i) to[i] = whole[i];
#endif
}

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

/// Stores the sums of the columns of one place. `out` is the place's first channel; `Job` has bias, residual and
/// activation.
template <int kVectors, typename Job>
HWY_INLINE void finish_row(const Job& job, const Columns& columns, const FloatVector (&sum)[kVectors], float* out) {
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
      if (job.bias != nullptr) y = hn::Add(y, load_part(job.bias + columns.first + v * kLanes, left));
      if (job.residual) y = hn::Add(y, load_part(to + v * kLanes, left));
      store_part(simple ? activate_simply(job.activation, y) : y, to + v * kLanes, left);
    }
  }
  if (!simple) portable::activate(job.activation, to, columns.count);
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#undef BERTH_HAS_MASKS

#endif
