// What fused operators end with: a bias a column, an activation, each on rows of f32.
#pragma once

#include "runtime/kernel.h"

namespace berth::portable {

/// In the order of their names in format/operators.def.
enum class ActivationKind : uint8_t {
  kNone,
  kRelu,
  kClamp,
  kLeakyRelu,
  kSigmoid,
  kTanh,
  kSilu,
  kHardSigmoid,
  kHardSwish,
  kGelu,
  kGeluTanh,
  kElu,
};

struct Activation {
  ActivationKind kind = ActivationKind::kNone;
  float alpha = 0;
  float beta = 0;
};

/// Reads the three arguments from `args[first]` on. InvalidArgument for a name that is none.
Error read_activation(KernelContext& context, Span<EValue* const> args, size_t first, Activation* activation);

/// y[i] = activation(y[i])
void activate(const Activation& activation, float* y, int64_t n);

}  // namespace berth::portable
