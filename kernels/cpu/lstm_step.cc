#include "kernels/cpu/lstm_step.h"

#include <algorithm>

#include "kernels/portable/math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/lstm_step.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace math = portable::math;

// The four gates' sums for a block of units.
struct Sums {
  alignas(64) float gate[4][kLstmUnits];
};

const float* block_of(const LstmStep& step, int64_t unit) {
  return step.weight + unit / step.width * step.size * 4 * step.width + unit % step.width;
}

// kVectors registers of units from `unit` on; all four gates at once, so that a row of the weight is read in few runs.
template <int kVectors>
HWY_INLINE void add_product(const LstmStep& step, int64_t unit, float* to) {
  const FloatTag d;
  FloatVector sum[4][kVectors];
  BERTH_UNROLL_FULL
  for (int g = 0; g < 4; ++g) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[g][v] = hn::LoadU(d, step.gates + g * step.size + unit + v * kLanes);
  }
  const int64_t row = (step.backwards ? -4 : 4) * step.width;
  const int64_t next = step.backwards ? -1 : 1;
  const float* hidden = step.hidden + (step.backwards ? step.size - 1 : 0);
  const float* weight = block_of(step, unit) + (step.backwards ? (step.size - 1) * 4 * step.width : 0);
  for (int64_t k = 0; k < step.size; ++k, weight += row, hidden += next) {
    const FloatVector before = hn::Set(d, *hidden);
    BERTH_UNROLL_FULL
    for (int g = 0; g < 4; ++g) {
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) {
        sum[g][v] = hn::MulAdd(before, hn::LoadU(d, weight + g * step.width + v * kLanes), sum[g][v]);
      }
    }
  }
  BERTH_UNROLL_FULL
  for (int g = 0; g < 4; ++g) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[g][v], d, to + g * kLstmUnits + v * kLanes);
  }
}

void add_one(const LstmStep& step, int64_t unit, float* to) {
  const float* weight = block_of(step, unit);
  for (int64_t g = 0; g < 4; ++g) {
    float sum = step.gates[g * step.size + unit];
    for (int64_t k = 0; k < step.size; ++k) sum += step.hidden[k] * weight[(k * 4 + g) * step.width];
    to[g * kLstmUnits] = sum;
  }
}

void add_products(const LstmStep& step, int64_t begin, int64_t end, Sums& sums) {
  float* to = sums.gate[0];
  int64_t unit = begin;
#if HWY_TARGET == HWY_AVX3
  for (; unit + 4 * kLanes <= end; unit += 4 * kLanes) add_product<4>(step, unit, to + unit - begin);
#endif
  for (; unit + 2 * kLanes <= end; unit += 2 * kLanes) add_product<2>(step, unit, to + unit - begin);
  for (; unit + kLanes <= end; unit += kLanes) add_product<1>(step, unit, to + unit - begin);
  for (; unit < end; ++unit) add_one(step, unit, to + unit - begin);
}

// e^-x for the gates: sigmoid and tanh are as good as 0, 1 and -1 beyond 40, and products of two of these are finite.
BERTH_INLINE float exp_of_minus(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
  const float raised = x < -40.0f ? -40.0f : x;
  const float bounded = -(raised > 40.0f ? 40.0f : raised);
  const float shifted = bounded * 1.442695041f + kRound;
  const float n = shifted - kRound;
  const float r = (bounded - n * math::kLn2High) - n * math::kLn2Low;
  const float mantissa = 1.0f + math::exp_minus_one_near_zero(r);
  return math::float_of(math::bits_of(mantissa) + (math::bits_of(shifted) << 23));
}

// With e = e^-x and t = e^-2y: sigmoid(x) = 1 / (1 + e) and tanh(y) = (1 - t) / (1 + t), so that a product of the two
// needs one division. tanh is right to within 1e-7, near 0 too, but not to a share of itself there.
BERTH_INLINE float sigmoid_times_tanh(float x, float y) {
  const float t = exp_of_minus(2 * y);
  return (1 - t) / ((1 + exp_of_minus(x)) * (1 + t));
}

void finish(const LstmStep& step, int64_t begin, int64_t n, const Sums& sums) {
  const float* cell = step.cell + begin;
  float* out_cell = step.out_cell + begin;
  float* out_hidden = step.out_hidden + begin;
  BERTH_SIMD
  for (int64_t j = 0; j < n; ++j) {
    const float next =
        cell[j] / (1 + exp_of_minus(sums.gate[1][j])) + sigmoid_times_tanh(sums.gate[0][j], sums.gate[2][j]);
    out_cell[j] = next;
    out_hidden[j] = sigmoid_times_tanh(sums.gate[3][j], next);
  }
}

void units(const LstmStep& step, int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; unit += kLstmUnits) {
    const int64_t n = std::min(kLstmUnits, end - unit);
    Sums sums;
    add_products(step, unit, unit + n, sums);
    finish(step, unit, n, sums);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(units);

void run_lstm_units(const LstmStep& step, int64_t begin, int64_t end) { HWY_DYNAMIC_DISPATCH(units)(step, begin, end); }

}  // namespace berth::cpu
#endif
