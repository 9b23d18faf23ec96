#include "kernels/cpu/row_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/row_norm.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd_tile-inl.h"
#include "kernels/portable/math.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// Registers of sums that do not wait for each other.
constexpr int kAtOnce = 4;
// Rows of no more elements have a lane each: a register of their own would be mostly empty.
constexpr int64_t kShortRow = 8;

float total(const FloatVector (&sum)[kAtOnce]) {
  return hn::GetLane(hn::SumOfLanes(FloatTag(), hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3]))));
}

float sum_of(const float* x, int64_t n) {
  const FloatTag d;
  FloatVector sum[kAtOnce] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + kAtOnce * kLanes <= n; i += kAtOnce * kLanes) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kAtOnce; ++v) sum[v] = hn::Add(sum[v], hn::LoadU(d, x + i + v * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) sum[0] = hn::Add(sum[0], hn::LoadU(d, x + i));
  float rest = 0;
  for (; i < n; ++i) rest += x[i];
  return total(sum) + rest;
}

float sum_of_squares(const float* x, int64_t n, float mean) {
  const FloatTag d;
  const FloatVector center = hn::Set(d, mean);
  FloatVector sum[kAtOnce] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + kAtOnce * kLanes <= n; i += kAtOnce * kLanes) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kAtOnce; ++v) {
      const FloatVector distance = hn::Sub(hn::LoadU(d, x + i + v * kLanes), center);
      sum[v] = hn::MulAdd(distance, distance, sum[v]);
    }
  }
  for (; i + kLanes <= n; i += kLanes) {
    const FloatVector distance = hn::Sub(hn::LoadU(d, x + i), center);
    sum[0] = hn::MulAdd(distance, distance, sum[0]);
  }
  float rest = 0;
  for (; i < n; ++i) rest += (x[i] - mean) * (x[i] - mean);
  return total(sum) + rest;
}

template <bool kWeight, bool kBias>
void standardize(const float* x, int64_t n, float mean, float rstd, const float* weight, const float* bias, float* y) {
  const FloatTag d;
  const FloatVector center = hn::Set(d, mean);
  const FloatVector scale = hn::Set(d, rstd);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    FloatVector value = hn::Mul(hn::Sub(hn::LoadU(d, x + i), center), scale);
    if (kWeight) value = hn::Mul(value, hn::LoadU(d, weight + i));
    if (kBias) value = hn::Add(value, hn::LoadU(d, bias + i));
    hn::StoreU(value, d, y + i);
  }
  for (; i < n; ++i) y[i] = (x[i] - mean) * rstd * (kWeight ? weight[i] : 1.0f) + (kBias ? bias[i] : 0.0f);
}

void normalize(const float* x, int64_t n, float eps, const float* weight, const float* bias, float* y, float* mean,
               float* rstd) {
  const auto count = static_cast<float>(n);
  *mean = sum_of(x, n) / count;
  *rstd = 1 / std::sqrt(sum_of_squares(x, n, *mean) / count + eps);
  if (weight != nullptr && bias != nullptr) return standardize<true, true>(x, n, *mean, *rstd, weight, bias, y);
  if (weight != nullptr) return standardize<true, false>(x, n, *mean, *rstd, weight, bias, y);
  if (bias != nullptr) return standardize<false, true>(x, n, *mean, *rstd, weight, bias, y);
  standardize<false, false>(x, n, *mean, *rstd, weight, bias, y);
}

void rms_normalize(const float* x, int64_t n, float eps, const float* weight, float* y) {
  const FloatTag d;
  const float factor = 1 / std::sqrt(sum_of_squares(x, n, 0) / static_cast<float>(n) + eps);
  const FloatVector scale = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const FloatVector value = hn::Mul(hn::LoadU(d, x + i), scale);
    hn::StoreU(weight == nullptr ? value : hn::Mul(value, hn::LoadU(d, weight + i)), d, y + i);
  }
  for (; i < n; ++i) y[i] = x[i] * factor * (weight == nullptr ? 1.0f : weight[i]);
}

float largest(const float* x, int64_t n) {
  const FloatTag d;
  FloatVector max = hn::Set(d, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) max = hn::Max(max, hn::LoadU(d, x + i));
  float most = hn::GetLane(hn::MaxOfLanes(d, max));
  for (; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

// The last elements of a row as a register whose other lanes make no difference to a sum of exponentials.
FloatVector load_rest(const float* x, int64_t n) {
  const FloatTag d;
  alignas(64) float lanes[kLanes];
  std::fill(lanes, lanes + kLanes, -std::numeric_limits<float>::infinity());
  std::copy(x, x + n, lanes);
  return hn::Load(d, lanes);
}

// e^(x - max) summed, and written to y unless that is null.
float sum_of_exponentials(const float* x, int64_t n, float max, float* y) {
  const FloatTag d;
  const FloatVector shift = hn::Set(d, max);
  FloatVector sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const FloatVector e = exp_of_negative(hn::Sub(hn::LoadU(d, x + i), shift));
    if (y != nullptr) hn::StoreU(e, d, y + i);
    sum = hn::Add(sum, e);
  }
  if (i < n) {
    const FloatVector e = exp_of_negative(hn::Sub(load_rest(x + i, n - i), shift));
    alignas(64) float lanes[kLanes];
    hn::Store(e, d, lanes);
    if (y != nullptr) std::copy(lanes, lanes + (n - i), y + i);
    sum = hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void softmax_row(const float* x, int64_t n, float* y) {
  const FloatTag d;
  const float sum = sum_of_exponentials(x, n, largest(x, n), y);
  const float factor = 1 / sum;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), hn::Set(d, factor)), d, y + i);
  for (; i < n; ++i) y[i] *= factor;
}

void log_softmax_row(const float* x, int64_t n, float* y) {
  const FloatTag d;
  const float max = largest(x, n);
  const float log_sum = std::log(sum_of_exponentials(x, n, max, nullptr));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, max)), hn::Set(d, log_sum)), d, y + i);
  }
  for (; i < n; ++i) y[i] = x[i] - max - log_sum;
}

// As many rows as a register has lanes, each in a lane of its own; `rows` of them are there.
template <bool kLog>
void few_short_rows(const float* x, int64_t rows, int64_t n, float* y) {
  const FloatTag d;
  alignas(64) float element[kShortRow][kLanes] = {};
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < n; ++i) element[i][r] = x[r * n + i];
  }
  FloatVector max = hn::Load(d, element[0]);
  for (int64_t i = 1; i < n; ++i) max = hn::Max(max, hn::Load(d, element[i]));
  FloatVector sum = hn::Zero(d);
  for (int64_t i = 0; i < n; ++i) {
    const FloatVector below = hn::Sub(hn::Load(d, element[i]), max);
    const FloatVector e = exp_of_negative(below);
    sum = hn::Add(sum, e);
    hn::Store(kLog ? below : e, d, element[i]);
  }
  alignas(64) float by[kLanes];
  hn::Store(kLog ? sum : hn::Div(hn::Set(d, 1.0f), sum), d, by);
  for (int64_t r = 0; r < rows; ++r) {
    const float own = kLog ? portable::math::log(by[r]) : by[r];
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = kLog ? element[i][r] - own : element[i][r] * own;
  }
}

template <bool kLog>
void all_rows(const float* x, int64_t rows, int64_t n, float* y) {
  if (n > kShortRow) {
    for (int64_t r = 0; r < rows; ++r) {
      kLog ? log_softmax_row(x + r * n, n, y + r * n) : softmax_row(x + r * n, n, y + r * n);
    }
    return;
  }
  for (int64_t r = 0; r < rows; r += kLanes) {
    few_short_rows<kLog>(x + r * n, std::min<int64_t>(kLanes, rows - r), n, y + r * n);
  }
}

void softmax(const float* x, int64_t rows, int64_t n, float* y) { all_rows<false>(x, rows, n, y); }
void log_softmax(const float* x, int64_t rows, int64_t n, float* y) { all_rows<true>(x, rows, n, y); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(normalize);
HWY_EXPORT(rms_normalize);
HWY_EXPORT(softmax);
HWY_EXPORT(log_softmax);

void normalize_row(const float* x, int64_t n, float eps, const float* weight, const float* bias, float* y, float* mean,
                   float* rstd) {
  HWY_DYNAMIC_DISPATCH(normalize)(x, n, eps, weight, bias, y, mean, rstd);
}

void rms_normalize_row(const float* x, int64_t n, float eps, const float* weight, float* y) {
  HWY_DYNAMIC_DISPATCH(rms_normalize)(x, n, eps, weight, y);
}

void softmax_of_rows(const float* x, int64_t rows, int64_t n, float* y) {
  HWY_DYNAMIC_DISPATCH(softmax)(x, rows, n, y);
}

void log_softmax_of_rows(const float* x, int64_t rows, int64_t n, float* y) {
  HWY_DYNAMIC_DISPATCH(log_softmax)(x, rows, n, y);
}

}  // namespace berth::cpu
#endif
