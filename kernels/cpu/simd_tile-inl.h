// The innermost part of products of f32: a tile of the result held in registers while the depth runs by. And the
// exponential of softmax. Included once for each instruction set (hwy/foreach_target.h); registers of a fixed size
// only.
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_SIMD_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_SIMD_TILE_INL_H_
#undef BERTH_CPU_SIMD_TILE_INL_H_
#else
#define BERTH_CPU_SIMD_TILE_INL_H_
#endif

#include <hwy/highway.h>

#if defined(__clang__)
#define BERTH_UNROLL_FULL _Pragma("clang loop unroll(full)")
#else
#define BERTH_UNROLL_FULL _Pragma("GCC unroll 32")
#endif

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
constexpr int64_t kLanes = HWY_LANES(float);

/// Whether an instruction converts f16. Elsewhere Highway's way is many, and makes numbers of infinity and NaN.
constexpr bool kConvertsHalves = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL;

// Six rows of sums by four registers are 24 of 32, by two are 12 of 16; what is left holds a row of B and an element
// of A.
constexpr int kTileRows = 6;
constexpr int kTileVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr int64_t kTileColumns = kTileVectors * kLanes;

/// C[i, j] = factor * sum over k of A[i, k] * B[k, j], or that added to C.
struct TileArguments {
  const float* a;
  int64_t a_row;
  const float* b;
  int64_t b_row;
  int64_t depth;
  float* c;
  int64_t c_row;
  float factor;
  bool add;
};

template <int kRows, int kVectors>
HWY_INLINE void tile(const TileArguments& t) {
  const FloatTag d;
  FloatVector sum[kRows][kVectors];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
  }
  const float* b = t.b;
  for (int64_t k = 0; k < t.depth; ++k, b += t.b_row) {
    FloatVector row[kVectors];
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, b + v * kLanes);
    BERTH_UNROLL_FULL
    for (int i = 0; i < kRows; ++i) {
      const FloatVector a = hn::Set(d, t.a[i * t.a_row + k]);
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(a, row[v], sum[i][v]);
    }
  }
  const FloatVector factor = hn::Set(d, t.factor);
  BERTH_UNROLL_FULL
  for (int i = 0; i < kRows; ++i) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) {
      float* c = t.c + i * t.c_row + v * kLanes;
      const FloatVector before = t.add ? hn::LoadU(d, c) : hn::Zero(d);
      hn::StoreU(hn::MulAdd(factor, sum[i][v], before), d, c);
    }
  }
}

template <int kVectors>
HWY_NOINLINE void tile_of_rows(const TileArguments& t, int64_t rows) {
  switch (rows) {
    case 1: return tile<1, kVectors>(t);
    case 2: return tile<2, kVectors>(t);
    case 3: return tile<3, kVectors>(t);
    case 4: return tile<4, kVectors>(t);
    case 5: return tile<5, kVectors>(t);
    default: return tile<6, kVectors>(t);
  }
}

/// A tile of up to kTileRows rows and any number of registers up to kTileVectors.
HWY_INLINE void run_tile(const TileArguments& t, int64_t rows, int64_t vectors) {
  if (vectors == 1) return tile_of_rows<1>(t, rows);
  if (vectors == 2) return tile_of_rows<2>(t, rows);
#if HWY_TARGET == HWY_AVX3
  if (vectors == 3) return tile_of_rows<3>(t, rows);
  return tile_of_rows<4>(t, rows);
#endif
}

/// e^x for x <= 0: 0 where the result would be denormal, NaN for NaN. The polynomial is that of
/// kernels/portable/math.h.
HWY_INLINE FloatVector exp_of_negative(FloatVector x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const FloatVector round = hn::Set(d, 12582912.0f);  // 1.5 * 2^23
  const FloatVector shifted = hn::MulAdd(x, hn::Set(d, 1.442695041f), round);
  const FloatVector n = hn::Sub(shifted, round);
  const FloatVector r =
      hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6f), hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), x));
  FloatVector p = hn::Set(d, 1.978926302e-04f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.394575229e-03f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.333504200e-03f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.166628048e-02f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.666666567e-01f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0f));
  // 2^n: the low bits of `shifted` are n; adding it to the exponent of p, which is in [0.7, 1.5), stays in range.
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const FloatVector scaled = hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
  const FloatVector result = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), scaled);
  return hn::IfThenElse(hn::Eq(x, x), result, x);
}

// Instruction sets without masks would read and write whole registers, and others' elements with them.
#define BERTH_HAS_MASKS (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL)

/// The first `count` elements, less than a register has, and zeros.
HWY_INLINE FloatVector load_part(const float* from, int64_t count) {
  const FloatTag d;
#if BERTH_HAS_MASKS
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN float whole[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) whole[i] = from[i];
  return hn::Load(d, whole);
#endif
}

HWY_INLINE void store_part(FloatVector x, float* to, int64_t count) {
  const FloatTag d;
#if BERTH_HAS_MASKS
  hn::BlendedStore(x, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN float whole[kLanes];
  hn::Store(x, d, whole);
  for (int64_t i = 0; i < count; ++i) to[i] = whole[i];
#endif
}

#undef BERTH_HAS_MASKS

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif
