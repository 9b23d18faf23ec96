// berth::elementwise: a thread runs the steps of format/elementwise_code.h for one element. All threads take the same
// way through the code, and its operands are in registers or in the first-level cache.
#include "backends/cuda/kernels/activation.h"
#include "backends/cuda/kernels/kernels.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/place.h"
#include "base/result.h"
#include "format/elementwise_code.h"
#include "kernels/portable/fused_elementwise.h"

namespace berth::cuda {
namespace {

using elementwise::kMaxConstants;
using elementwise::kMaxInputs;
using elementwise::kMaxSteps;
using Code = elementwise::Op;

BERTH_HD inline float mish_of(float x) {
  const float e = ops::exp_of(-ops::fabs_of(x));
  const float part = x < 0 ? e * (e + 2) : 1 + 2 * e;
  return x * (part / (part + (x < 0 ? 2 : 2 * (e * e))));
}

BERTH_HD inline float apply_code(Code op, float a, float b, float c) {
  switch (op) {
    case Code::kAdd: return a + b;
    case Code::kSub: return a - b;
    case Code::kMul: return a * b;
    case Code::kDiv: return a / b;
    case Code::kMin: return a != a || a < b ? a : b;
    case Code::kMax: return a != a || a > b ? a : b;
    case Code::kPow: return ops::pow_of(a, b);
    case Code::kNeg: return -a;
    case Code::kAbs: return ops::fabs_of(a);
    case Code::kExp: return ops::exp_of(a);
    case Code::kLog: return ops::log_of(a);
    case Code::kSqrt: return ops::sqrt_of(a);
    case Code::kRsqrt: return 1 / ops::sqrt_of(a);
    case Code::kReciprocal: return 1 / a;
    case Code::kSquare: return a * a;
    case Code::kTanh: return ops::tanh_of(a);
    case Code::kSigmoid: return ops::sigmoid_of(a);
    case Code::kErf: return ops::erf_of(a);
    case Code::kRelu: return a < 0 ? 0.0f : a;
    case Code::kClamp: return bounded(a, b, c);
    case Code::kLeakyRelu: return a > 0 ? a : a * b;
    case Code::kElu: return a > 0 ? a : b * ops::expm1_of(a);
    case Code::kSilu: return a * ops::sigmoid_of(a);
    case Code::kHardSigmoid: return hard_sigmoid_of(a);
    case Code::kHardSwish: return a * hard_sigmoid_of(a);
    case Code::kGelu: return a * 0.5f * (1 + ops::erf_of(a * 0.70710678f));
    case Code::kGeluTanh: return ops::gelu_tanh_of(a);
    case Code::kMulAdd: return a * b + c;
    case Code::kSin: return ops::sin_of(a);
    case Code::kCos: return ops::cos_of(a);
    case Code::kRound: return ops::rint_of(a);
    case Code::kNanTo: return a != a ? b : a;
    case Code::kLog1p: return ops::log1p_of(a);
    case Code::kExpm1: return ops::expm1_of(a);
    case Code::kFloor: return ops::floor_of(a);
    case Code::kMish: return mish_of(a);
    case Code::kToU8:
    case Code::kToI8:
    case Code::kToF16:
    case Code::kToBF16: break;  // results are f32 here
  }
  return 0;
}

struct StepsBody {
  struct Step {
    uint8_t op, a, b, c;
  };
  float* out;
  const float* inputs[kMaxInputs];
  int32_t input_count, constant_count, step_count;
  bool flat;
  Places<kMaxInputs + 1> places;  // of `out` and the inputs, where they are not flat
  float constants[kMaxConstants];
  Step steps[kMaxSteps];

  BERTH_HD void operator()(int64_t i) const {
    float values[kMaxInputs + kMaxConstants + kMaxSteps];
    int64_t offsets[kMaxInputs + 1];
    if (!flat) places.at(i, offsets);
    int next = 0;
    for (int k = 0; k < input_count; ++k) values[next++] = inputs[k][flat ? i : offsets[k + 1]];
    for (int k = 0; k < constant_count; ++k) values[next++] = constants[k];
    for (int s = 0; s < step_count; ++s) {
      const Step step = steps[s];
      values[next++] = apply_code(static_cast<Code>(step.op), values[step.a], values[step.b], values[step.c]);
    }
    out[flat ? i : offsets[0]] = values[next - 1];
  }
};

// The logical dimensions of `out`, and how far each tensor goes along them; 0 where it is stretched.
void set_places(const Tensor& out, TensorList inputs, Places<kMaxInputs + 1>* places) {
  places->rank = out.rank() == 0 ? 1 : out.rank();
  for (int d = 0; d < out.rank(); ++d) {
    places->sizes[d] = out.size(d);
    places->strides[0][d] = out.stride(d);
    for (size_t k = 0; k < inputs.size(); ++k) {
      const int own = d - (out.rank() - inputs[k].rank());
      const bool moves = own >= 0 && inputs[k].size(own) != 1;
      places->strides[k + 1][d] = moves ? int64_t{inputs[k].stride(own)} : 0;
    }
  }
}

}  // namespace

Error fused_elementwise_out(KernelContext& context, const arguments::fused_elementwise_out& args) {
  StepsBody body{};
  BERTH_RETURN_IF_ERROR(portable::prepare_elementwise(context, args, &body.flat));
  bool floats = args.out.dtype() == DType::kF32;
  for (const Tensor& input : args.inputs) floats = floats && input.dtype() == DType::kF32;
  if (!floats) return context.fail(Error::kNotSupported, "element-wise code on cuda takes and gives f32");
  body.out = args.out.data<float>();
  body.input_count = static_cast<int32_t>(args.inputs.size());
  body.constant_count = static_cast<int32_t>(args.constants.size());
  body.step_count = static_cast<int32_t>(args.code.size() / 4);
  for (size_t k = 0; k < args.inputs.size(); ++k) body.inputs[k] = args.inputs[k].data<float>();
  for (size_t k = 0; k < args.constants.size(); ++k) body.constants[k] = static_cast<float>(args.constants[k]);
  for (int32_t s = 0; s < body.step_count; ++s) {
    const auto number = [&](size_t k) { return static_cast<uint8_t>(args.code[4 * s + k]); };
    body.steps[s] = {number(0), number(1), number(2), number(3)};
  }
  if (!body.flat) set_places(args.out, args.inputs, &body.places);
  return for_each(context, args.out.numel(), body);
}

}  // namespace berth::cuda
