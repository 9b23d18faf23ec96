#include "kernels/cpu/gru_step.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gru_step.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/gate_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// Gates [first, first + kGates) of `step`, whose products are with `hidden`.
template <int kGates>
GateProduct<kGates> product_of(const GruStep& step, const float* hidden, int first) {
  GateProduct<kGates> p;
  for (int g = 0; g < kGates; ++g) p.start[g] = step.bias == nullptr ? nullptr : step.bias + (first + g) * step.size;
  p.hidden = hidden;
  p.weight = step.weight + first * step.width;
  p.weight_row = 3 * step.width;
  p.size = step.size;
  p.width = step.width;
  p.backwards = step.backwards;
  return p;
}

BERTH_INLINE float sigmoid(float x) { return 1 / (1 + exp_of_minus(x)); }

// Right to within 1e-7, near 0 too, but not to a share of itself there.
BERTH_INLINE float tanh(float x) {
  const float t = exp_of_minus(2 * x);
  return (1 - t) / (1 + t);
}

BERTH_INLINE float blend(float z, float candidate, float before) { return candidate + z * (before - candidate); }

void finish(const GruStep& step, int64_t row, int64_t begin, int64_t n, const GateSums<3>& sums) {
  const float* gates = step.gates + 3 * row * step.size + begin;
  const float* x_z = gates + (step.reset_first ? step.size : 0);
  const float* x_r = gates + (step.reset_first ? 0 : step.size);
  const float* x_n = gates + 2 * step.size;
  const auto& z = sums.gate[row][step.reset_first ? 1 : 0];
  const auto& r = sums.gate[row][step.reset_first ? 0 : 1];
  const auto& h_n = sums.gate[row][2];
  const float* hidden = step.hidden + row * step.size + begin;
  float* out = step.out + row * step.size + begin;
  BERTH_SIMD
  for (int64_t j = 0; j < n; ++j) {
    const float candidate = tanh(x_n[j] + sigmoid(x_r[j] + r[j]) * h_n[j]);
    out[j] = blend(sigmoid(x_z[j] + z[j]), candidate, hidden[j]);
  }
}

void finish_gates(const GruStep& step, int64_t row, int64_t begin, int64_t n, const GateSums<2>& sums) {
  const float* gates = step.gates + 3 * row * step.size + begin;
  const float* x_z = gates + (step.reset_first ? step.size : 0);
  const float* x_r = gates + (step.reset_first ? 0 : step.size);
  const auto& z = sums.gate[row][step.reset_first ? 1 : 0];
  const auto& r = sums.gate[row][step.reset_first ? 0 : 1];
  const int64_t at = row * step.size + begin;
  const float* hidden = step.hidden + at;
  BERTH_SIMD
  for (int64_t j = 0; j < n; ++j) {
    step.out[at + j] = sigmoid(x_z[j] + z[j]);
    step.reset[at + j] = sigmoid(x_r[j] + r[j]) * hidden[j];
  }
}

void finish_candidate(const GruStep& step, int64_t row, int64_t begin, int64_t n, const GateSums<1>& sums) {
  const float* x_n = step.gates + (3 * row + 2) * step.size + begin;
  const float* hidden = step.hidden + row * step.size + begin;
  const auto& h_n = sums.gate[row][0];
  float* out = step.out + row * step.size + begin;
  BERTH_SIMD
  for (int64_t j = 0; j < n; ++j) out[j] = blend(out[j], tanh(x_n[j] + h_n[j]), hidden[j]);
}

template <int kGates, typename Finish>
HWY_INLINE void run(const GruStep& step, const GateProduct<kGates>& product, int64_t begin, int64_t end,
                    const Finish& finish_row) {
  for (int64_t unit = begin; unit < end; unit += kRecurrentUnits) {
    const int64_t n = std::min(kRecurrentUnits, end - unit);
    GateSums<kGates> sums;
    step.rows == 1   ? add_products<kGates, 1>(product, unit, unit + n, sums)
    : step.rows == 2 ? add_products<kGates, 2>(product, unit, unit + n, sums)
                     : add_products<kGates, kRecurrentRows>(product, unit, unit + n, sums);
    for (int64_t row = 0; row < step.rows; ++row) finish_row(step, row, unit, n, sums);
  }
}

void units(const GruStep& step, int64_t begin, int64_t end) {
  run(step, product_of<3>(step, step.hidden, 0), begin, end, finish);
}

void gates(const GruStep& step, int64_t begin, int64_t end) {
  run(step, product_of<2>(step, step.hidden, 0), begin, end, finish_gates);
}

void candidate(const GruStep& step, int64_t begin, int64_t end) {
  run(step, product_of<1>(step, step.reset, 2), begin, end, finish_candidate);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(units);
HWY_EXPORT(gates);
HWY_EXPORT(candidate);

void run_gru_units(const GruStep& step, int64_t begin, int64_t end) { HWY_DYNAMIC_DISPATCH(units)(step, begin, end); }
void run_gru_gates(const GruStep& step, int64_t begin, int64_t end) { HWY_DYNAMIC_DISPATCH(gates)(step, begin, end); }
void run_gru_candidate(const GruStep& step, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(candidate)(step, begin, end);
}

}  // namespace berth::cpu
#endif
