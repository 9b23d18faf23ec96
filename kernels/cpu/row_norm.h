// Normalisation and softmax of rows of f32, for norm.cc and softmax.cc. An output row may be its input row.
#pragma once

#include <cstdint>

namespace berth::cpu {

/// y[i] = (x[i] - mean) / sqrt(variance + eps) * weight[i] + bias[i]; `weight` and `bias` may be null (1 and 0). The
/// mean and 1 / sqrt(variance + eps) go to `mean` and `rstd`. REQUIRES: n >= 1.
void normalize_row(const float* x, int64_t n, float eps, const float* weight, const float* bias, float* y, float* mean,
                   float* rstd);

/// y[i] = x[i] / sqrt(mean of the squares + eps) * weight[i]; `weight` may be null (1). REQUIRES: n >= 1.
void rms_normalize_row(const float* x, int64_t n, float eps, const float* weight, float* y);

/// y[i] = e^(x[i] - max) / sum, or its logarithm, in each of `rows` rows of n elements. REQUIRES: n >= 1.
void softmax_of_rows(const float* x, int64_t rows, int64_t n, float* y);
void log_softmax_of_rows(const float* x, int64_t rows, int64_t n, float* y);

}  // namespace berth::cpu
