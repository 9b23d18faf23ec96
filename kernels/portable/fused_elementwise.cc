// berth::elementwise: the steps of format/elementwise_code.h, some dozen elements at a time.
#include "kernels/portable/fused_elementwise.h"

#include <cmath>
#include <type_traits>

#include "base/half.h"
#include "format/elementwise_code.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/math.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/trigonometry.h"

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

template <typename Byte>
float as_byte(float x) {
  Byte byte;
  convert_elements(DType::kF32, &x, std::is_signed_v<Byte> ? DType::kI8 : DType::kU8, &byte, 1);
  return byte;
}

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
    case Op::kGelu: return math::gelu(a);
    case Op::kGeluTanh: return math::gelu_tanh(a);
    case Op::kMulAdd: return a * b + c;
    case Op::kSin: return math::sine<0>(a);
    case Op::kCos: return math::sine<1>(a);
    case Op::kRound: return __builtin_rintf(a);
    case Op::kNanTo: return a != a ? b : a;
    case Op::kToU8: return as_byte<uint8_t>(a);
    case Op::kToI8: return as_byte<int8_t>(a);
    case Op::kToF16: return Half(a);
    case Op::kToBF16: return BFloat16(a);
    case Op::kLog1p: return math::log1p(a);
    case Op::kExpm1: return math::expm1(a);
    case Op::kFloor: return __builtin_floorf(a);
    case Op::kMish: return math::mish(a);
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

const char* address(const Tensor& tensor, int64_t element) {
  return tensor.data<char>() + element * static_cast<int64_t>(element_size(tensor.dtype()));
}

// Elements [begin, begin + n) of `out`, in logical order; all tensors lie alike where `flat`.
void run(const Code& code, Tensor& out, bool flat, int64_t begin, int64_t n) {
  float values[kMaxOperands][kChunk];
  size_t next = 0;
  for (const Tensor& tensor : code.inputs) {
    const DType type = tensor.dtype();
    if (flat) convert_elements(type, address(tensor, begin), DType::kF32, values[next], n);
    for (int64_t i = 0; i < n && !flat; ++i) {
      const char* from = address(tensor, stretched_offset(tensor, out, begin + i));
      convert_elements(type, from, DType::kF32, &values[next][i], 1);
    }
    ++next;
  }
  for (const double constant : code.constants) {
    for (int64_t i = 0; i < n; ++i) values[next][i] = static_cast<float>(constant);
    ++next;
  }
  for (size_t s = 0; s < code.steps(); ++s, ++next) {
    run_plain_step(code.op(s), values[code.operand(s, 1)], values[code.operand(s, 2)], values[code.operand(s, 3)], n,
                   values[next]);
  }
  const float* result = values[next - 1];
  char* to = out.data<char>();
  const auto size = static_cast<int64_t>(element_size(out.dtype()));
  if (flat) return convert_elements(DType::kF32, result, out.dtype(), to + begin * size, n);
  for (int64_t i = 0; i < n; ++i) {
    convert_elements(DType::kF32, &result[i], out.dtype(), to + element_offset(out, begin + i) * size, 1);
  }
}

}  // namespace

void run_plain_step(Op op, const float* a, const float* b, const float* c, int64_t n, float* out) {
  const int count = elementwise::operands(op);
  // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): there is a step, as problem_of() has seen.
  for (int64_t i = 0; i < n; ++i) out[i] = apply(op, a[i], count > 1 ? b[i] : 0, count > 2 ? c[i] : 0);
}

bool narrows_in_place(const arguments::fused_elementwise_out& args) {
  return args.inputs.size() == 1 && args.inputs[0].raw() == args.out.raw() &&
         element_size(args.out.dtype()) < element_size(args.inputs[0].dtype()) && same_layout(args.inputs[0], args.out);
}

Error prepare_elementwise(KernelContext& context, const arguments::fused_elementwise_out& args, bool* flat) {
  const char* problem = elementwise::problem_of(args.inputs.size(), args.constants.size(), args.code.size(),
                                                [&](size_t i) { return args.code[i]; });
  if (problem != nullptr) return context.fail(Error::kInvalidArgument, problem);
  const Tensor* inputs[elementwise::kMaxInputs];
  for (size_t i = 0; i < args.inputs.size(); ++i) {
    inputs[i] = &args.inputs[i];
    if (!elementwise::is_input_type(inputs[i]->dtype())) {
      return context.fail(Error::kInvalidArgument, "element-wise code takes u8, i8, i32, f16, bf16 and f32");
    }
  }
  Tensor& out = args.out;
  const auto last = static_cast<Op>(args.code[args.code.size() - 4]);
  if (out.dtype() != elementwise::result_type(last)) {
    return context.fail(Error::kInvalidArgument, "out is not of the type that the last step of the code gives");
  }
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
  const auto range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kChunk) run(code, out, flat, i, end - i < kChunk ? end - i : kChunk);
  };
  // One chunk after the other; each is read before it is written.
  if (narrows_in_place(args)) {
    range(0, out.numel());
  } else {
    context.parallel_for(out.numel(), 4096, range);
  }
  return Error::kOk;
}

}  // namespace berth::portable
