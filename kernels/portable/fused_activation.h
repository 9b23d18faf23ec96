// What fused operators end with: a bias a column, an activation, each on rows of f32.
#pragma once

#include "runtime/arguments.h"
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

/// The activation called `name`. InvalidArgument when there is none of that name.
Error read_activation(KernelContext& context, StringRef name, double alpha, double beta, Activation* activation);

/// That of a fused operator.
template <typename Args>
Error read_activation(KernelContext& context, const Args& args, Activation* activation) {
  return read_activation(context, args.activation, args.alpha, args.beta, activation);
}

/// y[i] = activation(y[i])
void activate(const Activation& activation, float* y, int64_t n);

}  // namespace berth::portable
