// The code of berth::elementwise: a chain of element-wise steps, encoded as numbers in program files. The compiler
// writes it, the kernels run it.
//
// Steps are quadruples {op, a, b, c}. An operand is an index into the inputs, followed by the constants, followed by
// the results of earlier steps. The last step's result is the output. Unused operands are 0.
//
//   inputs x, y; constants [0.5]; code [kMul, 0, 2, 0,  kAdd, 3, 1, 0]     out = x * 0.5 + y
//
// Steps compute in f32. An input of another type is converted when it is read; the last step says which type the result
// has: f32, u8 and i8 after kToU8 and kToI8, or f16 and bf16 after kToF16 and kToBF16. So a chain between tensors of
// f16 reads and writes those and is rounded once, and one between quantised tensors reads and writes bytes:
//
//   input u8; constants [128, 0.5, 0, 255]
//   code [kSub, 0, 1, 0,  kMul, 5, 2, 0,  kRelu, 6, 0, 0,  kDiv, 7, 2, 0,  kRound, 8, 0, 0,  kAdd, 9, 1, 0,
//         kClamp, 10, 3, 4,  kToU8, 11, 0, 0]
//
// The ops behave like the ATen operators of the same names, also for NaN and infinities.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/span.h"

namespace berth::elementwise {

constexpr size_t kMaxInputs = 8;
constexpr size_t kMaxConstants = 32;
constexpr size_t kMaxSteps = 32;

/// The numbers stand in program files: add new ones at the end.
enum class Op : uint8_t {
  kAdd = 0,           // a + b
  kSub = 1,           // a - b
  kMul = 2,           // a * b
  kDiv = 3,           // a / b
  kMin = 4,           // minimum(a, b)
  kMax = 5,           // maximum(a, b)
  kPow = 6,           // a ^ b
  kNeg = 7,           // -a
  kAbs = 8,           // |a|
  kExp = 9,           // e^a
  kLog = 10,          // ln a
  kSqrt = 11,         // the square root of a
  kRsqrt = 12,        // 1 / sqrt(a)
  kReciprocal = 13,   // 1 / a
  kSquare = 14,       // a * a
  kTanh = 15,         // tanh a
  kSigmoid = 16,      // 1 / (1 + e^-a)
  kErf = 17,          // erf a
  kRelu = 18,         // a < 0 ? 0 : a
  kClamp = 19,        // a limited to [b, c]
  kLeakyRelu = 20,    // a > 0 ? a : a * b
  kElu = 21,          // a > 0 ? a : b * (e^a - 1)
  kSilu = 22,         // a * sigmoid(a)
  kHardSigmoid = 23,  // min(max(a + 3, 0), 6) / 6
  kHardSwish = 24,    // a * hard_sigmoid(a)
  kGelu = 25,         // a / 2 * (1 + erf(a / sqrt(2)))
  kGeluTanh = 26,     // its form with tanh
  kMulAdd = 27,       // a * b + c
  kSin = 28,          // sin a
  kCos = 29,          // cos a
  kRound = 30,        // the nearest whole number, half to even
  kNanTo = 31,        // a is NaN ? b : a
  kToU8 = 32,         // a as u8: towards zero, the low bits of what does not fit, 0 for NaN
  kToI8 = 33,         // a as i8, in the same way
  kToF16 = 34,        // a as f16: the nearest, half to even
  kToBF16 = 35,       // a as bf16, in the same way
  kLog1p = 36,        // ln(1 + a)
  kExpm1 = 37,        // e^a - 1
  kFloor = 38,        // the largest whole number up to a
  kMish = 39,         // a * tanh(ln(1 + e^a))
};
constexpr size_t kOps = 40;

/// The number of operands of `op`: 1, 2 or 3.
constexpr int operands(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMin:
    case Op::kMax:
    case Op::kPow:
    case Op::kNanTo:
    case Op::kLeakyRelu:
    case Op::kElu: return 2;
    case Op::kClamp:
    case Op::kMulAdd: return 3;
    default: return 1;
  }
}

/// The type of a chain's result, by its last step.
constexpr DType result_type(Op last) {
  switch (last) {
    case Op::kToU8: return DType::kU8;
    case Op::kToI8: return DType::kI8;
    case Op::kToF16: return DType::kF16;
    case Op::kToBF16: return DType::kBF16;
    default: return DType::kF32;
  }
}

/// What inputs may be.
constexpr bool is_input_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kI32 ||
         has_16_bits(dtype);
}

/// Whether `op` gives the same bits wherever it is computed: one rounded operation, or several that no compiler joins.
/// The others may differ in their last bits between instruction sets.
constexpr bool is_exact(Op op) {
  switch (op) {
    case Op::kPow:
    case Op::kExp:
    case Op::kLog:
    case Op::kTanh:
    case Op::kSigmoid:
    case Op::kErf:
    case Op::kElu:
    case Op::kSilu:
    case Op::kGelu:
    case Op::kGeluTanh:
    case Op::kMulAdd:
    case Op::kSin:
    case Op::kCos:
    case Op::kLog1p:
    case Op::kExpm1:
    case Op::kMish: return false;
    default: return true;
  }
}

/// Checks the code `number(i)`, i in [0, count): null if it is valid, else a static message.
template <typename NumberAt>
constexpr const char* problem_of(size_t inputs, size_t constants, size_t count, NumberAt&& number) {
  if (inputs < 1 || inputs > kMaxInputs) return "element-wise code takes 1 to 8 inputs";
  if (constants > kMaxConstants) return "element-wise code takes at most 32 constants";
  if (count == 0 || count % 4 != 0 || count / 4 > kMaxSteps)
    return "element-wise code is 1 to 32 steps of four numbers";
  for (size_t i = 0; i < count; i += 4) {
    const int64_t op = number(i);
    if (op < 0 || op >= static_cast<int64_t>(kOps)) return "an unknown op in element-wise code";
    const auto known = static_cast<int64_t>(inputs + constants + i / 4);
    for (size_t k = 1; k <= 3; ++k) {
      const bool used = static_cast<int>(k) <= operands(static_cast<Op>(op));
      const int64_t operand = number(i + k);
      if (used ? operand < 0 || operand >= known : operand != 0) return "an operand out of range in element-wise code";
    }
  }
  return nullptr;
}

inline const char* problem(size_t inputs, size_t constants, Span<const int64_t> code) {
  return problem_of(inputs, constants, code.size(), [&](size_t i) { return code[i]; });
}

}  // namespace berth::elementwise
