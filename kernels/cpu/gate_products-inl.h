// What the steps of recurrent layers share: the sums of some gates for some units of the state, each
// start + hidden * weight, and the exponential of their activations. Included once for each instruction set
// (hwy/foreach_target.h).
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_GATE_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_GATE_PRODUCTS_INL_H_
#undef BERTH_CPU_GATE_PRODUCTS_INL_H_
#else
#define BERTH_CPU_GATE_PRODUCTS_INL_H_
#endif

#include "kernels/cpu/recurrent_step.h"
#include "kernels/cpu/simd_tile-inl.h"
#include "kernels/portable/math.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

/// The sums of each row, for some units.
template <int kGates>
struct GateSums {
  alignas(64) float gate[kRecurrentRows][kGates][kRecurrentUnits];
};

template <int kGates>
struct GateProduct {
  // What the sums of each gate begin with, of all units; the next row is `start_row` further. Null for 0.
  const float* start[kGates] = {};
  int64_t start_row = 0;
  const float* hidden = nullptr;  // `size` a row
  // Of each `width` units one block, a row of `weight_row` for each element of `hidden`: what it adds to the first gate
  // of the block's units, then to the next.
  const float* weight = nullptr;
  int64_t weight_row = 0;
  int64_t size = 0;
  int64_t width = 0;
  bool backwards = false;  // from the last row of a block to the first

  const float* block_of(int64_t unit) const { return weight + unit / width * size * weight_row + unit % width; }
};

// kVectors registers of units from `unit` on, which are `at` and following of the sums; all gates at once, so that a
// row of the weight is read in few runs. The last register has `last` units.
template <int kGates, int kRows, int kVectors, bool kPart = false>
HWY_INLINE void add_product(const GateProduct<kGates>& p, int64_t unit, int64_t at, GateSums<kGates>& sums,
                            int64_t last = kLanes) {
  const FloatTag d;
  const auto load = [&](const float* from) {
    if constexpr (kPart) {
      return load_part(from, last);
    } else {
      return hn::LoadU(d, from);
    }
  };
  static_assert(!kPart || kVectors == 1);
  FloatVector sum[kRows][kGates][kVectors];
  BERTH_UNROLL_FULL
  for (int g = 0; g < kGates; ++g) {
    const float* start = p.start[g];
    BERTH_UNROLL_FULL
    for (int r = 0; r < kRows; ++r) {
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) {
        sum[r][g][v] = start == nullptr ? hn::Zero(d) : load(start + r * p.start_row + unit + v * kLanes);
      }
    }
  }
  const int64_t row = p.backwards ? -p.weight_row : p.weight_row;
  const int64_t next = p.backwards ? -1 : 1;
  const float* hidden = p.hidden + (p.backwards ? p.size - 1 : 0);
  const float* weight = p.block_of(unit) + (p.backwards ? (p.size - 1) * p.weight_row : 0);
  for (int64_t k = 0; k < p.size; ++k, weight += row, hidden += next) {
    FloatVector before[kRows];
    BERTH_UNROLL_FULL
    for (int r = 0; r < kRows; ++r) before[r] = hn::Set(d, hidden[r * p.size]);
    BERTH_UNROLL_FULL
    for (int g = 0; g < kGates; ++g) {
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) {
        const FloatVector w = load(weight + g * p.width + v * kLanes);
        BERTH_UNROLL_FULL
        for (int r = 0; r < kRows; ++r) sum[r][g][v] = hn::MulAdd(before[r], w, sum[r][g][v]);
      }
    }
  }
  BERTH_UNROLL_FULL
  for (int r = 0; r < kRows; ++r) {
    BERTH_UNROLL_FULL
    for (int g = 0; g < kGates; ++g) {
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) hn::Store(sum[r][g][v], d, &sums.gate[r][g][at + v * kLanes]);
    }
  }
}

// As many registers of sums as there are, less one for each weight and row.
template <int kGates, int kRows>
void add_products(const GateProduct<kGates>& p, int64_t begin, int64_t end, GateSums<kGates>& sums) {
  constexpr int kMost = (HWY_TARGET == HWY_AVX3 ? 2 : 1) * (kRows == 1 ? 2 : 1);
  int64_t unit = begin;
  for (; unit + kMost * kLanes <= end; unit += kMost * kLanes) {
    add_product<kGates, kRows, kMost>(p, unit, unit - begin, sums);
  }
  if (kMost > 2 && unit + 2 * kLanes <= end) {
    add_product<kGates, kRows, 2>(p, unit, unit - begin, sums);
    unit += 2 * kLanes;
  }
  for (; unit + kLanes <= end; unit += kLanes) add_product<kGates, kRows, 1>(p, unit, unit - begin, sums);
  if (unit < end) add_product<kGates, kRows, 1, true>(p, unit, unit - begin, sums, end - unit);
}

// e^-x for the gates: sigmoid and tanh are as good as 0, 1 and -1 beyond 40, and products of two of these are finite.
BERTH_INLINE float exp_of_minus(float x) {
  namespace math = portable::math;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
  const float raised = x < -40.0f ? -40.0f : x;
  const float bounded = -(raised > 40.0f ? 40.0f : raised);
  const float shifted = bounded * 1.442695041f + kRound;
  const float n = shifted - kRound;
  const float r = (bounded - n * math::kLn2High) - n * math::kLn2Low;
  const float mantissa = 1.0f + math::exp_minus_one_near_zero(r);
  return math::float_of(math::bits_of(mantissa) + (math::bits_of(shifted) << 23));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif
