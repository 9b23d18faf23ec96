// y = (x - mean[c]) * spread[c] * weight[c] + bias[c] for each channel c, dimension 1: what batch_norm comes down to,
// with running statistics or with those of the batch.
#pragma once

#include "kernels/portable/norm.h"

namespace berth::portable {

struct BatchNorm {
  const Tensor& input;
  const Tensor* weight;
  const Tensor* bias;
  /// One floating element a channel: the mean, and the variance or, if `spread_is_rstd`, 1 / sqrt(variance + eps).
  const Tensor& mean;
  const Tensor& spread;
  bool spread_is_rstd;
  double eps;
  Tensor& out;

  int64_t channels() const { return input.size(1); }
};

/// Checks ranks and dtypes, the sizes of weight and bias, and gives `out` its sizes.
Error prepare_batch_norm(KernelContext& context, const BatchNorm& norm);

/// InvalidArgument unless `statistics` is floating and has one element a channel.
Error check_statistics(KernelContext& context, const BatchNorm& norm, const Tensor& statistics);

/// Computes `out`. REQUIRES: prepare_batch_norm(), check_statistics() of mean and spread; all have memory.
void run_batch_norm(KernelContext& context, const BatchNorm& norm);

}  // namespace berth::portable
