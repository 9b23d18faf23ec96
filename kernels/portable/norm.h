// What the normalisations share: mean and reciprocal deviation of a row, and reading rows of any dtype and layout.
#pragma once

#include "kernels/portable/convert.h"
#include "kernels/portable/iterate.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Mean and 1 / sqrt(variance + eps) of a row; the variance is that of the whole population.
struct Moments {
  double mean;
  double rstd;
};

Moments moments_f32(const float* x, int64_t n, double eps);

/// y[i] = (x[i] - mean) * rstd * weight[i] + bias[i]; `weight` and `bias` may be null (1 and 0). `y` may be `x`.
void normalize_f32(const float* x, float* y, int64_t n, Moments moments, const float* weight, const float* bias);

/// y[i] = x[i] * scale + shift. `y` may be `x`.
void scale_shift_f32(const float* x, float* y, int64_t n, float scale, float shift);

/// The elements of one operand of a walk as doubles, a chunk at a time.
struct RowReader {
  static constexpr int64_t kChunk = 128;

  DType dtype;
  Walk walk;  // one operand

  /// Loads elements [begin, begin + n) of the row that starts at byte address `row`. REQUIRES: n <= kChunk.
  void load(const void* row, int64_t begin, int64_t n, double* values) const;
  void store(void* row, int64_t begin, int64_t n, const double* values) const;

  /// The moments of all elements of the row.
  Moments moments(const void* row, double eps) const;
};

/// Element `index` of a tensor as a double; 1 or 0, whatever `otherwise` says, when it is null.
double element_or(const Tensor* tensor, int64_t index, double otherwise);

/// Stores `value` as element `index`, in the order of memory.
void store_element(Tensor& tensor, int64_t index, double value);

}  // namespace berth::portable
