// Layer normalisation of rows of f32, as transformers have it.
#pragma once

#include "runtime/kernel.h"

namespace berth::cuda {

/// Row i begins at element i * length of `in` and `out`. `weight` and `bias` are one an element of the row, or null.
struct RowNorm {
  const float* in;
  float* out;
  float* mean;  // one a row
  float* rstd;
  const float* weight;
  const float* bias;
  int64_t length;
  double eps;
};

/// Normalises `rows` rows, a block a row. False, with nothing queued, for rows that do not fit in a block's registers
/// and where there is no device to compile for.
bool launch_row_norm(KernelContext& context, const RowNorm& norm, int64_t rows, Error* error);

}  // namespace berth::cuda
