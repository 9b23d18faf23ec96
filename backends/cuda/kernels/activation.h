// The activations of fused operators, for one element of f32.
#pragma once

#include "backends/cuda/kernels/ops.h"
#include "kernels/portable/fused_activation.h"

namespace berth::cuda {

BERTH_HD inline float bounded(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}
BERTH_HD inline float hard_sigmoid_of(float x) { return bounded(x + 3, 0, 6) * (1.0f / 6); }

/// activation(x), as kernels/portable/fused_activation.cc has it.
BERTH_HD inline float activated(const portable::Activation& activation, float x) {
  using Kind = portable::ActivationKind;
  switch (activation.kind) {
    case Kind::kNone: return x;
    case Kind::kRelu: return x < 0 ? 0.0f : x;
    case Kind::kClamp: return bounded(x, activation.alpha, activation.beta);
    case Kind::kLeakyRelu: return x > 0 ? x : x * activation.alpha;
    case Kind::kSigmoid: return ops::sigmoid_of(x);
    case Kind::kTanh: return ops::tanh_of(x);
    case Kind::kSilu: return x * ops::sigmoid_of(x);
    case Kind::kHardSigmoid: return hard_sigmoid_of(x);
    case Kind::kHardSwish: return x * hard_sigmoid_of(x);
    case Kind::kGelu: return x * 0.5f * (1 + ops::erf_of(x * 0.70710678f));
    case Kind::kGeluTanh: return ops::gelu_tanh_of(x);
    case Kind::kElu: return x > 0 ? x : ops::expm1_of(x) * activation.alpha;
  }
  return x;
}

}  // namespace berth::cuda
