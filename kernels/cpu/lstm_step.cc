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

// The four gates' sums of each row, for some units.
struct Sums {
  alignas(64) float gate[kLstmRows][4][kLstmUnits];
};

const float* block_of(const LstmStep& step, int64_t unit) {
  return step.weight + unit / step.width * step.size * 4 * step.width + unit % step.width;
}

// kVectors registers of units from `unit` on, which are `at` and following of the sums; all four gates at once, so that
// a row of the weight is read in few runs.
template <int kRows, int kVectors>
HWY_INLINE void add_product(const LstmStep& step, int64_t unit, int64_t at, Sums& sums) {
  const FloatTag d;
  FloatVector sum[kRows][4][kVectors];
  BERTH_UNROLL_FULL
  for (int r = 0; r < kRows; ++r) {
    BERTH_UNROLL_FULL
    for (int g = 0; g < 4; ++g) {
      const float* gates = step.gates + (4 * r + g) * step.size + unit;
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) sum[r][g][v] = hn::LoadU(d, gates + v * kLanes);
    }
  }
  const int64_t row = (step.backwards ? -4 : 4) * step.width;
  const int64_t next = step.backwards ? -1 : 1;
  const float* hidden = step.hidden + (step.backwards ? step.size - 1 : 0);
  const float* weight = block_of(step, unit) + (step.backwards ? (step.size - 1) * 4 * step.width : 0);
  for (int64_t k = 0; k < step.size; ++k, weight += row, hidden += next) {
    FloatVector before[kRows];
    BERTH_UNROLL_FULL
    for (int r = 0; r < kRows; ++r) before[r] = hn::Set(d, hidden[r * step.size]);
    BERTH_UNROLL_FULL
    for (int g = 0; g < 4; ++g) {
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) {
        const FloatVector w = hn::LoadU(d, weight + g * step.width + v * kLanes);
        BERTH_UNROLL_FULL
        for (int r = 0; r < kRows; ++r) sum[r][g][v] = hn::MulAdd(before[r], w, sum[r][g][v]);
      }
    }
  }
  BERTH_UNROLL_FULL
  for (int r = 0; r < kRows; ++r) {
    BERTH_UNROLL_FULL
    for (int g = 0; g < 4; ++g) {
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][g][v], d, &sums.gate[r][g][at + v * kLanes]);
    }
  }
}

void add_one(const LstmStep& step, int64_t unit, int64_t at, Sums& sums) {
  const float* weight = block_of(step, unit);
  for (int64_t r = 0; r < step.rows; ++r) {
    for (int64_t g = 0; g < 4; ++g) {
      float sum = step.gates[(4 * r + g) * step.size + unit];
      for (int64_t k = 0; k < step.size; ++k) sum += step.hidden[r * step.size + k] * weight[(k * 4 + g) * step.width];
      sums.gate[r][g][at] = sum;
    }
  }
}

// As many registers of sums as there are, less one for each weight and row.
template <int kRows>
void add_products(const LstmStep& step, int64_t begin, int64_t end, Sums& sums) {
  constexpr int kMost = (HWY_TARGET == HWY_AVX3 ? 2 : 1) * (kRows == 1 ? 2 : 1);
  int64_t unit = begin;
  for (; unit + kMost * kLanes <= end; unit += kMost * kLanes) {
    add_product<kRows, kMost>(step, unit, unit - begin, sums);
  }
  if (kMost > 2 && unit + 2 * kLanes <= end) {
    add_product<kRows, 2>(step, unit, unit - begin, sums);
    unit += 2 * kLanes;
  }
  for (; unit + kLanes <= end; unit += kLanes) add_product<kRows, 1>(step, unit, unit - begin, sums);
  for (; unit < end; ++unit) add_one(step, unit, unit - begin, sums);
}

void add_all_products(const LstmStep& step, int64_t begin, int64_t end, Sums& sums) {
  if (step.rows == 1) return add_products<1>(step, begin, end, sums);
  if (step.rows == 2) return add_products<2>(step, begin, end, sums);
  add_products<kLstmRows>(step, begin, end, sums);
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

void finish(const LstmStep& step, int64_t row, int64_t begin, int64_t n, const Sums& sums) {
  const auto& gate = sums.gate[row];
  const float* cell = step.cell + row * step.size + begin;
  float* out_cell = step.out_cell + row * step.size + begin;
  float* out_hidden = step.out_hidden + row * step.size + begin;
  BERTH_SIMD
  for (int64_t j = 0; j < n; ++j) {
    const float next = cell[j] / (1 + exp_of_minus(gate[1][j])) + sigmoid_times_tanh(gate[0][j], gate[2][j]);
    out_cell[j] = next;
    out_hidden[j] = sigmoid_times_tanh(gate[3][j], next);
  }
}

void units(const LstmStep& step, int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; unit += kLstmUnits) {
    const int64_t n = std::min(kLstmUnits, end - unit);
    Sums sums;
    add_all_products(step, unit, unit + n, sums);
    for (int64_t row = 0; row < step.rows; ++row) finish(step, row, unit, n, sums);
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
