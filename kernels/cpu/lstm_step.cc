#include "kernels/cpu/lstm_step.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/lstm_step.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/gate_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

GateProduct<4> product_of(const LstmStep& step) {
  GateProduct<4> p;
  for (int g = 0; g < 4; ++g) p.start[g] = step.gates + g * step.size;
  p.start_row = 4 * step.size;
  p.hidden = step.hidden;
  p.weight = step.weight;
  p.weight_row = 4 * step.width;
  p.size = step.size;
  p.width = step.width;
  p.backwards = step.backwards;
  return p;
}

void add_all_products(const LstmStep& step, int64_t begin, int64_t end, GateSums<4>& sums) {
  const GateProduct<4> product = product_of(step);
  if (step.rows == 1) return add_products<4, 1>(product, begin, end, sums);
  if (step.rows == 2) return add_products<4, 2>(product, begin, end, sums);
  add_products<4, kRecurrentRows>(product, begin, end, sums);
}

// With e = e^-x and t = e^-2y: sigmoid(x) = 1 / (1 + e) and tanh(y) = (1 - t) / (1 + t), so that a product of the two
// needs one division. tanh is right to within 1e-7, near 0 too, but not to a share of itself there.
BERTH_INLINE float sigmoid_times_tanh(float x, float y) {
  const float t = exp_of_minus(2 * y);
  return (1 - t) / ((1 + exp_of_minus(x)) * (1 + t));
}

void finish_units(const LstmGates& gates, int64_t n) {
  const float *i = gates.gate[0], *f = gates.gate[1], *g = gates.gate[2], *o = gates.gate[3];
  const float* cell = gates.cell;
  float *out_cell = gates.out_cell, *out_hidden = gates.out_hidden;
  BERTH_SIMD
  for (int64_t j = 0; j < n; ++j) {
    const float next = cell[j] / (1 + exp_of_minus(f[j])) + sigmoid_times_tanh(i[j], g[j]);
    out_cell[j] = next;
    out_hidden[j] = sigmoid_times_tanh(o[j], next);
  }
}

void finish(const LstmStep& step, int64_t row, int64_t begin, int64_t n, const GateSums<4>& sums) {
  const int64_t at = row * step.size + begin;
  const auto& gate = sums.gate[row];
  finish_units({{gate[0], gate[1], gate[2], gate[3]}, step.cell + at, step.out_hidden + at, step.out_cell + at}, n);
}

void units(const LstmStep& step, int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; unit += kRecurrentUnits) {
    const int64_t n = std::min(kRecurrentUnits, end - unit);
    GateSums<4> sums;
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
HWY_EXPORT(finish_units);

void run_lstm_gates(const LstmGates& gates, int64_t count) { HWY_DYNAMIC_DISPATCH(finish_units)(gates, count); }

void run_lstm_units(const LstmStep& step, int64_t begin, int64_t end) { HWY_DYNAMIC_DISPATCH(units)(step, begin, end); }

}  // namespace berth::cpu
#endif
