// The tiles of narrow weights, once for each instruction set.
#include <atomic>
#include <cstring>

#include "kernels/cpu/matrix_products.h"
#include "kernels/cpu/tiles_narrow.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/tiles_narrow_run.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/tiles_body-inl.h"

#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86_64
#include "kernels/cpu/tiles_matrix-inl.h"
#endif

// Below AVX2 the portable kernels are enough: each of these tiles is code. These processors widen f16 themselves, too;
// what Highway does elsewhere knows no infinities.
#define BERTH_HAS_NARROW (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON)

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

#if BERTH_HAS_NARROW

// More rows would save little, and each tile is code.
constexpr int kHighestNarrow = 14;

// Pairs of bf16, widened: first the lower halves of all pairs, then the upper ones. Their tiles are as high as the
// widest has it, where there are 16 registers a row less, for the mask has one: those of fewer registers are for
// results of few columns.
struct WidenedPairs {
  using Weight = float;
  static constexpr int kHighestTile = HWY_TARGET == HWY_AVX2 ? 5 : 6;
  static constexpr bool kWindows = true;
  static constexpr int kParts = 2;

  template <int kPart>
  static HWY_INLINE FloatVector half_of(FloatVector pairs) {
    const FloatTag d;
    const hn::RebindToUnsigned<FloatTag> du;
    const auto bits = hn::BitCast(du, pairs);
    if constexpr (kPart == 0) return hn::BitCast(d, hn::ShiftLeft<16>(bits));
    return hn::BitCast(d, hn::And(bits, hn::Set(du, 0xffff0000u)));
  }
  template <int kPart>
  static HWY_INLINE FloatVector weights(const Weight* b) {
    return half_of<kPart>(hn::LoadU(FloatTag(), b));
  }
  template <int kPart>
  static HWY_INLINE FloatVector element(const float* a) {
    return half_of<kPart>(hn::Set(FloatTag(), *a));
  }
  static HWY_INLINE FloatVector add(FloatVector x, FloatVector row, FloatVector sum) { return hn::MulAdd(x, row, sum); }
};

// The other half of a pair.
void fill_up(int64_t count, uint16_t* to) {
  if (count % 2 != 0) std::memset(to + count, 0, sizeof(uint16_t));
}

// A register of floats as one of bf16, to the nearest and ties to even.
HWY_INLINE void store_rounded(FloatVector x, uint16_t* to) {
  const hn::RebindToUnsigned<FloatTag> du;
  const hn::RebindToSigned<FloatTag> di;
  const hn::Rebind<uint16_t, FloatTag> d16;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff)));
  // NaN stays NaN, and becomes no infinity.
  const auto quiet = hn::Or(bits, hn::Set(du, 0x400000));
  const auto number = hn::RebindMask(du, hn::Eq(x, x));
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, hn::ShiftRight<16>(hn::IfThenElse(number, rounded, quiet)))), d16, to);
}

// Rounds a register of floats and stores it.
using StoreRounded = void (*)(FloatVector x, uint16_t* to);

// Pixels of an odd depth that is less than a register's lanes: as many as fit into one are moved apart and rounded at
// once. The pixels behind the last whole register are left to the caller; returns how many were done.
template <StoreRounded kStore>
HWY_INLINE int64_t narrow_small_pixels(const float* from, int64_t pixels, int64_t depth, uint16_t* to) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const int64_t width = depth + 1, taken = kLanes / width;
  HWY_ALIGN int32_t lane_of[kLanes];
  HWY_ALIGN float kept[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) {
    const bool is_element = i < taken * width && i % width < depth;
    lane_of[i] = static_cast<int32_t>(is_element ? i / width * depth + i % width : 0);
    kept[i] = is_element ? 1.0f : 0.0f;
  }
  const auto lanes = hn::SetTableIndices(d, lane_of);
  const auto elements = hn::RebindMask(d, hn::Ne(hn::BitCast(di, hn::Load(d, kept)), hn::Zero(di)));
  int64_t i = 0;
  // Whole registers are read and written.
  for (; (i + taken) * depth + kLanes <= pixels * depth && (i + taken) * width + kLanes <= pixels * width; i += taken) {
    const FloatVector apart = hn::TableLookupLanes(hn::LoadU(d, from + i * depth), lanes);
    kStore(hn::IfThenElseZero(elements, apart), to + i * width);
  }
  return i;
}

#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86_64

// The instructions of AVX512_BF16 by their names, so that nothing else is compiled for them: functions() asks the
// processor.
struct Pairs {
  using Weight = float;
  static constexpr int kHighestTile = kHighestNarrow;
  static constexpr bool kWindows = true;
  static constexpr int kParts = 1;

  template <int kPart>
  static HWY_INLINE FloatVector weights(const Weight* b) {
    return hn::LoadU(FloatTag(), b);
  }
  template <int kPart>
  static HWY_INLINE FloatVector element(const float* a) {
    return hn::Set(FloatTag(), *a);
  }
  static HWY_INLINE FloatVector add(FloatVector x, FloatVector row, FloatVector sum) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(row.raw), "v"(x.raw));
    return sum;
  }
};

#endif

template <StoreRounded kStore>
HWY_INLINE void round_all(const float* from, int64_t count, uint16_t* to) {
  const FloatTag d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) kStore(hn::LoadU(d, from + i), to + i);
  if (i < count) {
    HWY_ALIGN uint16_t last[kLanes];
    kStore(load_part(from + i, count - i), last);
    std::memcpy(to + i, last, (count - i) * sizeof(uint16_t));
  }
}

// PairFunctions::round_rows.
template <StoreRounded kStore>
void round_rows(const float* from, int64_t from_step, int64_t rows, int64_t columns, uint16_t* to, int64_t to_step) {
  const FloatTag d;
  if (columns != 2 * kLanes) {
    for (int64_t i = 0; i < rows; ++i) round_all<kStore>(from + i * from_step, columns, to + i * to_step);
    return;
  }
  for (int64_t i = 0; i < rows; ++i, from += from_step, to += to_step) {
    kStore(hn::LoadU(d, from), to);
    kStore(hn::LoadU(d, from + kLanes), to + kLanes);
  }
}

// PairFunctions::narrow.
template <StoreRounded kStore>
void narrow(const float* from, int64_t count, float* pairs) {
  auto* const to = reinterpret_cast<uint16_t*>(pairs);
  round_all<kStore>(from, count, to);
  fill_up(count, to);
}

// PairFunctions::narrow_pixels.
template <StoreRounded kStore>
void narrow_pixels(const float* from, int64_t pixels, int64_t depth, float* pairs) {
  int64_t done = 0;
  if (depth < kLanes) done = narrow_small_pixels<kStore>(from, pixels, depth, reinterpret_cast<uint16_t*>(pairs));
  const int64_t width = (depth + 1) / 2;
  for (; done < pixels; ++done) narrow<kStore>(from + done * depth, depth, pairs + done * width);
}

// Weights of f16.
struct HalfWeights {
  using Weight = hwy::float16_t;
  static constexpr int kHighestTile = kHighestNarrow;
  static constexpr bool kWindows = false;
  static constexpr int kParts = 1;

  template <int kPart>
  static HWY_INLINE FloatVector weights(const Weight* b) {
    const FloatTag d;
    const hn::Rebind<hwy::float16_t, FloatTag> d16;
    return hn::PromoteTo(d, hn::LoadU(d16, b));
  }
  template <int kPart>
  static HWY_INLINE FloatVector element(const float* a) {
    return hn::Set(FloatTag(), *a);
  }
  static HWY_INLINE FloatVector add(FloatVector x, FloatVector row, FloatVector sum) { return hn::MulAdd(x, row, sum); }
};

PairFunctions pairs() {
#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86_64
  if (has_bf16_products()) {
    PairFunctions f = {functions_of<Pairs>(), nullptr, round_rows<store_rounded_at_once>, narrow<store_rounded_at_once>,
                       narrow_pixels<store_rounded_at_once>};
    // It takes six cycles where a product of floats takes four.
    f.tiles.under_way = 12;
    return f;
  }
#endif
  return {functions_of<WidenedPairs>(), nullptr, round_rows<store_rounded>, narrow<store_rounded>,
          narrow_pixels<store_rounded>};
}

PairFunctions matrix_pairs() {
#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86_64
  if (has_bf16_products() && has_bf16_matrices()) {
    TileFunctions tiles = {kLanes, 2, {0, kMatrixTile, kMatrixTile}, kMatrixTile, kMatrixTile, run_matrix_panel};
    return {tiles, run_matrix_strips, round_rows<store_rounded_at_once>, narrow<store_rounded_at_once>,
            narrow_pixels<store_rounded_at_once>};
  }
#endif
  return {};
}

TileFunctions halves() { return functions_of<HalfWeights>(); }

#else

PairFunctions pairs() { return {}; }
PairFunctions matrix_pairs() { return {}; }
TileFunctions halves() { return {}; }

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#undef BERTH_HAS_NARROW

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(pairs);
HWY_EXPORT(matrix_pairs);
HWY_EXPORT(halves);

PairFunctions pair_functions() { return HWY_DYNAMIC_DISPATCH(pairs)(); }
PairFunctions matrix_functions() { return HWY_DYNAMIC_DISPATCH(matrix_pairs)(); }
TileFunctions half_functions() { return HWY_DYNAMIC_DISPATCH(halves)(); }

static std::atomic<bool> products_forbidden{false};
void forbid_bf16_products(bool forbidden) { products_forbidden = forbidden; }

bool has_bf16_products() {
#if HWY_ARCH_X86_64
  __builtin_cpu_init();
  return !products_forbidden && __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

}  // namespace berth::cpu
#endif
