// The transforms of winograd.h along one axis: what a tile sees into positions, products at positions into pixels, taps
// into positions. Two axes are one after the other. Products add up at most kRun elements one after another, for most
// of the rounding error comes from long sums. Included once for each instruction set.
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_WINOGRAD_TRANSFORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_WINOGRAD_TRANSFORM_INL_H_
#undef BERTH_CPU_WINOGRAD_TRANSFORM_INL_H_
#else
#define BERTH_CPU_WINOGRAD_TRANSFORM_INL_H_
#endif

#include "kernels/cpu/simd_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {

/// F(2, 3): points 0, 1, -1, infinity.
struct Transform2 {
  static constexpr int kPixels = 2;
  static constexpr int kPositions = 4;
  static constexpr int64_t kRun = 64;

  static HWY_INLINE void input(const FloatVector (&d)[4], FloatVector (&t)[4]) {
    t[0] = hn::Sub(d[0], d[2]);
    t[1] = hn::Add(d[1], d[2]);
    t[2] = hn::Sub(d[2], d[1]);
    t[3] = hn::Sub(d[1], d[3]);
  }
  static HWY_INLINE void output(const FloatVector (&m)[4], FloatVector (&y)[2]) {
    y[0] = hn::Add(m[0], hn::Add(m[1], m[2]));
    y[1] = hn::Sub(hn::Sub(m[1], m[2]), m[3]);
  }
  static HWY_INLINE void weight(const FloatVector (&g)[3], FloatVector (&t)[4]) {
    const FloatVector half = hn::Set(FloatTag(), 0.5f);
    const FloatVector even = hn::Mul(half, hn::Add(g[0], g[2]));
    t[0] = g[0];
    t[1] = hn::MulAdd(half, g[1], even);
    t[2] = hn::NegMulAdd(half, g[1], even);
    t[3] = g[2];
  }
};

/// F(4, 3): points 0, a, -a, b, -b, infinity with a = 3/4 and b = 3/2, whose powers are exact. Input rows are the
/// products of x minus every other point (for infinity: every point), the weight's are divided by the differences.
struct Transform4 {
  static constexpr int kPixels = 4;
  static constexpr int kPositions = 6;
  static constexpr int64_t kRun = 32;
  static constexpr float kA = 0.75f, kB = 1.5f;
  static constexpr float kA2 = kA * kA, kB2 = kB * kB;

  static HWY_INLINE void input(const FloatVector (&d)[6], FloatVector (&t)[6]) {
    const FloatTag tag;
    const FloatVector a2 = hn::Set(tag, kA2), b2 = hn::Set(tag, kB2);
    const FloatVector sum = hn::Set(tag, kA2 + kB2), product = hn::Set(tag, kA2 * kB2);
    const FloatVector a = hn::Set(tag, kA), b = hn::Set(tag, kB);
    const FloatVector even_a = hn::NegMulAdd(b2, d[2], d[4]), odd_a = hn::NegMulAdd(b2, d[1], d[3]);
    const FloatVector even_b = hn::NegMulAdd(a2, d[2], d[4]), odd_b = hn::NegMulAdd(a2, d[1], d[3]);
    t[0] = hn::MulAdd(product, d[0], hn::NegMulAdd(sum, d[2], d[4]));
    t[1] = hn::MulAdd(a, odd_a, even_a);
    t[2] = hn::NegMulAdd(a, odd_a, even_a);
    t[3] = hn::MulAdd(b, odd_b, even_b);
    t[4] = hn::NegMulAdd(b, odd_b, even_b);
    t[5] = hn::MulAdd(product, d[1], hn::NegMulAdd(sum, d[3], d[5]));
  }
  static HWY_INLINE void output(const FloatVector (&m)[6], FloatVector (&y)[4]) {
    const FloatTag tag;
    const FloatVector even_a = hn::Add(m[1], m[2]), odd_a = hn::Mul(hn::Set(tag, kA), hn::Sub(m[1], m[2]));
    const FloatVector even_b = hn::Add(m[3], m[4]), odd_b = hn::Mul(hn::Set(tag, kB), hn::Sub(m[3], m[4]));
    const FloatVector a2 = hn::Set(tag, kA2), b2 = hn::Set(tag, kB2);
    y[0] = hn::Add(m[0], hn::Add(even_a, even_b));
    y[1] = hn::Add(odd_a, odd_b);
    y[2] = hn::MulAdd(a2, even_a, hn::Mul(b2, even_b));
    y[3] = hn::MulAdd(a2, odd_a, hn::MulAdd(b2, odd_b, m[5]));
  }
  static HWY_INLINE void weight(const FloatVector (&g)[3], FloatVector (&t)[6]) {
    const FloatTag tag;
    constexpr float kScaleA = 1 / (2 * kA2 * (kA2 - kB2)), kScaleB = 1 / (2 * kB2 * (kB2 - kA2));
    const FloatVector scale_a = hn::Set(tag, kScaleA), scale_b = hn::Set(tag, kScaleB);
    const FloatVector even_a = hn::Mul(scale_a, hn::MulAdd(hn::Set(tag, kA2), g[2], g[0]));
    const FloatVector even_b = hn::Mul(scale_b, hn::MulAdd(hn::Set(tag, kB2), g[2], g[0]));
    const FloatVector odd_a = hn::Mul(hn::Set(tag, kA * kScaleA), g[1]);
    const FloatVector odd_b = hn::Mul(hn::Set(tag, kB * kScaleB), g[1]);
    t[0] = hn::Mul(hn::Set(tag, 1 / (kA2 * kB2)), g[0]);
    t[1] = hn::Add(even_a, odd_a);
    t[2] = hn::Sub(even_a, odd_a);
    t[3] = hn::Add(even_b, odd_b);
    t[4] = hn::Sub(even_b, odd_b);
    t[5] = g[2];
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif
