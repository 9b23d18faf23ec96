#include "kernels/portable/fused_activation.h"

#include <cstring>

#include "format/activation_names.h"
#include "kernels/portable/math.h"

namespace berth::portable {
namespace {

template <typename F>
BERTH_INLINE void each(float* y, int64_t n, F f) {
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) y[i] = f(y[i]);
}

}  // namespace

Error read_activation(KernelContext& context, StringRef name, double alpha, double beta, Activation* activation) {
  for (size_t i = 0; i < sizeof(kActivationNames) / sizeof(kActivationNames[0]); ++i) {
    if (std::strlen(kActivationNames[i]) != name.size || std::memcmp(kActivationNames[i], name.data, name.size) != 0)
      continue;
    activation->kind = static_cast<ActivationKind>(i);
    activation->alpha = static_cast<float>(alpha);
    activation->beta = static_cast<float>(beta);
    return Error::kOk;
  }
  return context.fail(Error::kInvalidArgument, "no activation has this name");
}

BERTH_MULTIVERSION void activate(const Activation& activation, float* y, int64_t n) {
  const float alpha = activation.alpha;
  const float beta = activation.beta;
  switch (activation.kind) {
    case ActivationKind::kNone: return;
    case ActivationKind::kRelu: return each(y, n, [](float x) { return x < 0 ? 0.0f : x; });
    case ActivationKind::kClamp: return each(y, n, [=](float x) { return math::bounded(x, alpha, beta); });
    case ActivationKind::kLeakyRelu: return each(y, n, [=](float x) { return x > 0 ? x : x * alpha; });
    case ActivationKind::kSigmoid: return each(y, n, [](float x) { return math::sigmoid(x); });
    case ActivationKind::kTanh: return each(y, n, [](float x) { return math::tanh(x); });
    case ActivationKind::kSilu: return each(y, n, [](float x) { return x * math::sigmoid(x); });
    case ActivationKind::kHardSigmoid:
      return each(y, n, [](float x) { return math::bounded(x + 3, 0, 6) * (1.0f / 6); });
    case ActivationKind::kHardSwish:
      return each(y, n, [](float x) { return x * math::bounded(x + 3, 0, 6) * (1.0f / 6); });
    case ActivationKind::kGelu: return each(y, n, [](float x) { return math::gelu(x); });
    case ActivationKind::kGeluTanh: return each(y, n, [](float x) { return math::gelu_tanh(x); });
    case ActivationKind::kElu: return each(y, n, [=](float x) { return x > 0 ? x : math::expm1(x) * alpha; });
  }
}

}  // namespace berth::portable
