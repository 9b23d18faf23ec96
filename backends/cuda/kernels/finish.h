// What fused products and convolutions end with: a bias a channel, a residual, an activation.
#pragma once

#include "backends/cuda/kernels/activation.h"
#include "kernels/portable/gemm.h"
#include "runtime/kernel.h"

namespace berth::cuda {

/// out = activation(out + bias + residual), all f32; `residual` lies in memory as `out` does, and may be `out`.
struct Finish {
  float* out = nullptr;
  const float* bias = nullptr;      // null: none
  int64_t plane = 1, channels = 1;  // element i of `out` has bias[i / plane % channels]
  const float* residual = nullptr;  // null: none
  portable::Activation activation;

  BERTH_HD bool empty() const {
    return bias == nullptr && residual == nullptr && activation.kind == portable::ActivationKind::kNone;
  }
};

/// Finishes `count` elements that are in `finish.out` already. Queues nothing when there is nothing to do.
Error run_finish(KernelContext& context, const Finish& finish, int64_t count);

/// The product, by cuBLASLt where it takes it.
Error multiply(KernelContext& context, const portable::Product& product);
/// The product by this room's own kernel, which finishes each element that it computes, with the residual and the
/// activation of `finish`; a bias is the product's start. REQUIRES: f32; `finish.out` is the memory that the product's
/// result is part of.
Error run_own_product(KernelContext& context, const portable::Product& product, const Finish& finish);

}  // namespace berth::cuda
