#include "kernels/portable/norm.h"

#include <cmath>

#include "kernels/portable/multiversion.h"
#include "kernels/portable/reduce.h"

namespace berth::portable {
namespace {

BERTH_MULTIVERSION void standardize(const float* x, float* y, int64_t n, float mean, float rstd) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd;
}

BERTH_MULTIVERSION void standardize_affine(const float* x, float* y, int64_t n, float mean, float rstd,
                                           const float* weight, const float* bias) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
}

BERTH_MULTIVERSION void multiply(float* y, int64_t n, const float* weight) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) y[i] *= weight[i];
}

BERTH_MULTIVERSION void add(float* y, int64_t n, const float* bias) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) y[i] += bias[i];
}

const char* element_address(const Tensor& tensor, int64_t index) {
  return tensor.data<char>() + index * element_size(tensor.dtype());
}

}  // namespace

Moments moments_f32(const float* x, int64_t n, double eps) {
  const auto count = static_cast<double>(n);
  const double mean = sum_f32(x, n) / count;
  const double variance = sum_squares_f32(x, n, static_cast<float>(mean)) / count;
  return {mean, 1 / std::sqrt(variance + eps)};
}

void normalize_f32(const float* x, float* y, int64_t n, Moments moments, const float* weight, const float* bias) {
  const auto mean = static_cast<float>(moments.mean);
  const auto rstd = static_cast<float>(moments.rstd);
  if (weight != nullptr && bias != nullptr) return standardize_affine(x, y, n, mean, rstd, weight, bias);
  standardize(x, y, n, mean, rstd);
  if (weight != nullptr) multiply(y, n, weight);
  if (bias != nullptr) add(y, n, bias);
}

BERTH_MULTIVERSION void scale_shift_f32(const float* x, float* y, int64_t n, float scale, float shift) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
}

void RowReader::load(const void* row, int64_t begin, int64_t n, double* values) const {
  alignas(8) unsigned char raw[kChunk * 8];
  gather_elements(walk, row, element_size(dtype), begin, n, raw);
  convert_elements(dtype, raw, DType::kF64, values, n);
}

void RowReader::store(void* row, int64_t begin, int64_t n, const double* values) const {
  alignas(8) unsigned char raw[kChunk * 8];
  convert_elements(DType::kF64, values, dtype, raw, n);
  scatter_elements(walk, row, element_size(dtype), begin, n, raw);
}

Moments RowReader::moments(const void* row, double eps) const {
  double values[kChunk];
  const auto count = static_cast<double>(walk.count);
  double sum = 0;
  for (int64_t begin = 0; begin < walk.count; begin += kChunk) {
    const int64_t n = walk.count - begin < kChunk ? walk.count - begin : kChunk;
    load(row, begin, n, values);
    for (int64_t i = 0; i < n; ++i) sum += values[i];
  }
  const double mean = sum / count;
  double squares = 0;
  for (int64_t begin = 0; begin < walk.count; begin += kChunk) {
    const int64_t n = walk.count - begin < kChunk ? walk.count - begin : kChunk;
    load(row, begin, n, values);
    for (int64_t i = 0; i < n; ++i) squares += (values[i] - mean) * (values[i] - mean);
  }
  return {mean, 1 / std::sqrt(squares / count + eps)};
}

double element_or(const Tensor* tensor, int64_t index, double otherwise) {
  if (tensor == nullptr) return otherwise;
  double value = 0;
  convert_elements(tensor->dtype(), element_address(*tensor, index), DType::kF64, &value, 1);
  return value;
}

void store_element(Tensor& tensor, int64_t index, double value) {
  char* address = tensor.data<char>() + index * element_size(tensor.dtype());
  convert_elements(DType::kF64, &value, tensor.dtype(), address, 1);
}

}  // namespace berth::portable
