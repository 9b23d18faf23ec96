// berth::elementwise: the steps of format/elementwise_code.h, some hundred elements at a time.
#include "kernels/portable/fused_elementwise.h"

#include <cmath>

#include "format/elementwise_code.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/math.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

using elementwise::Op;

constexpr int64_t kChunk = 64;
constexpr size_t kMaxOperands = elementwise::kMaxInputs + elementwise::kMaxConstants + elementwise::kMaxSteps;

struct Code {
  TensorList inputs;
  IntList numbers;
  Span<const double> constants;
  size_t steps() const { return numbers.size() / 4; }
  size_t operand(size_t step, size_t k) const { return numbers[step * 4 + k]; }
  Op op(size_t step) const { return static_cast<Op>(numbers[step * 4]); }
};

float minimum(float a, float b) { return a != a || a < b ? a : b; }
float maximum(float a, float b) { return a != a || a > b ? a : b; }

float apply(Op op, float a, float b, float c) {
  switch (op) {
    case Op::kAdd: return a + b;
    case Op::kSub: return a - b;
    case Op::kMul: return a * b;
    case Op::kDiv: return a / b;
    case Op::kMin: return minimum(a, b);
    case Op::kMax: return maximum(a, b);
    case Op::kPow: return std::pow(a, b);
    case Op::kNeg: return -a;
    case Op::kAbs: return std::fabs(a);
    case Op::kExp: return math::exp(a);
    case Op::kLog: return math::log(a);
    case Op::kSqrt: return std::sqrt(a);
    case Op::kRsqrt: return 1 / std::sqrt(a);
    case Op::kReciprocal: return 1 / a;
    case Op::kSquare: return a * a;
    case Op::kTanh: return math::tanh(a);
    case Op::kSigmoid: return math::sigmoid(a);
    case Op::kErf: return math::erf(a);
    case Op::kRelu: return a < 0 ? 0 : a;
    case Op::kClamp: return math::bounded(a, b, c);
    case Op::kLeakyRelu: return a > 0 ? a : a * b;
    case Op::kElu: return a > 0 ? a : b * math::expm1(a);
    case Op::kSilu: return a * math::sigmoid(a);
    case Op::kHardSigmoid: return math::bounded(a + 3, 0, 6) * (1.0f / 6);
    case Op::kHardSwish: return a * math::bounded(a + 3, 0, 6) * (1.0f / 6);
    case Op::kGelu: return a * 0.5f * (1 + math::erf(a * 0.70710678f));
    case Op::kGeluTanh: return 0.5f * a * (1 + math::tanh(0.79788456f * (a + 0.044715f * (a * a * a))));
    case Op::kMulAdd: return a * b + c;
    case Op::kSin: return std::sin(a);
    case Op::kCos: return std::cos(a);
  }
  return 0;
}

// Where element `index` of `out`, in logical order, lies in `input`, which stretches to it.
int64_t stretched_offset(const Tensor& input, const Tensor& out, int64_t index) {
  int64_t offset = 0;
  for (int d = out.rank() - 1; d >= 0; --d) {
    const int64_t i = index % out.size(d);
    index /= out.size(d);
    const int own = d - (out.rank() - input.rank());
    if (own >= 0 && input.size(own) != 1) offset += i * input.stride(own);
  }
  return offset;
}

void run(const Code& code, Tensor& out, bool flat, int64_t begin, int64_t n) {
  float values[kMaxOperands][kChunk];
  size_t next = 0;
  for (const Tensor& tensor : code.inputs) {
    for (int64_t i = 0; i < n; ++i) {
      values[next][i] = tensor.data<float>()[flat ? begin + i : stretched_offset(tensor, out, begin + i)];
    }
    ++next;
  }
  for (const double constant : code.constants) {
    for (int64_t i = 0; i < n; ++i) values[next][i] = static_cast<float>(constant);
    ++next;
  }
  for (size_t s = 0; s < code.steps(); ++s, ++next) {
    const Op op = code.op(s);
    const float* a = values[code.operand(s, 1)];
    const float* b = values[code.operand(s, 2)];
    const float* c = values[code.operand(s, 3)];
    for (int64_t i = 0; i < n; ++i) values[next][i] = apply(op, a[i], b[i], c[i]);
  }
  for (int64_t i = 0; i < n; ++i) {
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): there is a step, as problem_of() has seen.
    out.data<float>()[flat ? begin + i : element_offset(out, begin + i)] = values[next - 1][i];
  }
}

}  // namespace

Error prepare_elementwise(KernelContext& context, const arguments::fused_elementwise_out& args, bool* flat) {
  const char* problem = elementwise::problem_of(args.inputs.size(), args.constants.size(), args.code.size(),
                                                [&](size_t i) { return args.code[i]; });
  if (problem != nullptr) return context.fail(Error::kInvalidArgument, problem);
  const Tensor* inputs[elementwise::kMaxInputs];
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    inputs[i] = &args.inputs[i];
    if (inputs[i]->dtype() != DType::kF32) return context.fail(Error::kInvalidArgument, "fused operators take f32");
  }
  Tensor& out = args.out;
  if (out.dtype() != DType::kF32) return context.fail(Error::kInvalidArgument, "fused operators take f32");
  BERTH_RETURN_IF_ERROR(resize_broadcast(context, out, {inputs, args.inputs.size()}));
  *flat = true;
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    BERTH_RETURN_IF_ERROR(check_memory(context, *inputs[i]));
    *flat = *flat && same_layout(*inputs[i], out);
  }
  return check_memory(context, out);
}

Error fused_elementwise_out(KernelContext& context, const arguments::fused_elementwise_out& args) {
  bool flat = false;
  BERTH_RETURN_IF_ERROR(prepare_elementwise(context, args, &flat));
  const Code code = {args.inputs, args.code, args.constants};
  Tensor& out = args.out;
  context.parallel_for(out.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kChunk) run(code, out, flat, i, end - i < kChunk ? end - i : kChunk);
  });
  return Error::kOk;
}

}  // namespace berth::portable
