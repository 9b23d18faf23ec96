// Loops over runs of numbers, one for each step of element-wise code (format/elementwise_code.h). They are plain: the
// compiler makes vector code of them, with the functions of kernels/portable/math.h inlined. Whether it may join a
// product and a sum is the including file's own. Included once for each instruction set (hwy/foreach_target.h).
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_ELEMENT_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_ELEMENT_LOOPS_INL_H_
#undef BERTH_CPU_ELEMENT_LOOPS_INL_H_
#else
#define BERTH_CPU_ELEMENT_LOOPS_INL_H_
#endif

#include <cmath>
#include <limits>
#include <utility>

#include "base/half.h"
#include "kernels/cpu/element_step.h"
#include "kernels/cpu/widen.h"
#include "kernels/portable/math.h"
#include "kernels/portable/sines.h"
#include "kernels/portable/trigonometry.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace math = portable::math;
using elementwise::Op;

template <typename Byte>
BERTH_INLINE float as_byte(float x) {
  constexpr float kLimit = 2147483648.0f;
  const int32_t whole = x >= -kLimit && x < kLimit ? static_cast<int32_t>(x) : std::numeric_limits<int32_t>::min();
  return static_cast<float>(static_cast<Byte>(whole));
}

template <Op op>
BERTH_INLINE float apply(float a, float b, float c) {
  if constexpr (op == Op::kAdd) return a + b;
  if constexpr (op == Op::kSub) return a - b;
  if constexpr (op == Op::kMul) return a * b;
  if constexpr (op == Op::kDiv) return a / b;
  if constexpr (op == Op::kMin) return a != a || a < b ? a : b;
  if constexpr (op == Op::kMax) return a != a || a > b ? a : b;
  if constexpr (op == Op::kPow) return std::pow(a, b);
  if constexpr (op == Op::kNeg) return -a;
  if constexpr (op == Op::kAbs) return __builtin_fabsf(a);
  if constexpr (op == Op::kExp) return math::exp(a);
  if constexpr (op == Op::kLog) return math::log(a);
  if constexpr (op == Op::kSqrt) return __builtin_sqrtf(a);
  if constexpr (op == Op::kRsqrt) return 1 / __builtin_sqrtf(a);
  if constexpr (op == Op::kReciprocal) return 1 / a;
  if constexpr (op == Op::kSquare) return a * a;
  if constexpr (op == Op::kTanh) return math::tanh(a);
  if constexpr (op == Op::kSigmoid) return math::sigmoid(a);
  if constexpr (op == Op::kErf) return math::erf(a);
  if constexpr (op == Op::kRelu) return a < 0 ? 0 : a;
  if constexpr (op == Op::kClamp) return math::bounded(a, b, c);
  if constexpr (op == Op::kLeakyRelu) return a > 0 ? a : a * b;
  if constexpr (op == Op::kElu) return a > 0 ? a : b * math::expm1(a);
  if constexpr (op == Op::kSilu) return a * math::sigmoid(a);
  if constexpr (op == Op::kHardSigmoid) return math::bounded(a + 3, 0, 6) * (1.0f / 6);
  if constexpr (op == Op::kHardSwish) return a * math::bounded(a + 3, 0, 6) * (1.0f / 6);
  if constexpr (op == Op::kGelu) return math::gelu(a);
  if constexpr (op == Op::kGeluTanh) return math::gelu_tanh(a);
  if constexpr (op == Op::kMulAdd) return a * b + c;
  if constexpr (op == Op::kSin) return math::sine<0>(a);
  if constexpr (op == Op::kCos) return math::sine<1>(a);
  if constexpr (op == Op::kRound) return __builtin_rintf(a);
  if constexpr (op == Op::kNanTo) return a != a ? b : a;
  if constexpr (op == Op::kToU8) return as_byte<uint8_t>(a);
  if constexpr (op == Op::kToI8) return as_byte<int8_t>(a);
  if constexpr (op == Op::kToF16) return Half(a);
  if constexpr (op == Op::kToBF16) return BFloat16(a);
  if constexpr (op == Op::kLog1p) return math::log1p(a);
  if constexpr (op == Op::kExpm1) return math::expm1(a);
  if constexpr (op == Op::kFloor) return __builtin_floorf(a);
  if constexpr (op == Op::kMish) return math::mish(a);
}

struct Operands {
  ElementRun a, b, c;
  int64_t n;
  float* out;
};

// Through numbers of 16 bits in memory, for which processors have instructions.
inline void round_to(DType type, const float* a, int64_t n, float* out) {
  constexpr int64_t kPart = 256;
  uint16_t rounded[kPart];
  for (int64_t i = 0; i < n; i += kPart) {
    const int64_t count = n - i < kPart ? n - i : kPart;
    narrow(type, a + i, rounded, count);
    widen(type, rounded, out + i, count);
  }
}

template <Op op>
void one(const Operands& o) {
  const float* a = o.a.data;
  float* out = o.out;
  const int64_t n = o.n;
  if (o.a.splat) {
    const float value = apply<op>(*a, 0, 0);
    for (int64_t i = 0; i < n; ++i) out[i] = value;
    return;
  }
  if constexpr (op == Op::kSin) return math::sines(a, n, out);
  if constexpr (op == Op::kCos) return math::cosines(a, n, out);
  if constexpr (op == Op::kToF16) return round_to(DType::kF16, a, n, out);
  if constexpr (op == Op::kToBF16) return round_to(DType::kBF16, a, n, out);
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) out[i] = apply<op>(a[i], 0, 0);
}

template <Op op>
void two(const Operands& o) {
  const float* a = o.a.data;
  const float* b = o.b.data;
  float* out = o.out;
  const int64_t n = o.n;
  if (o.a.splat && o.b.splat) {
    const float value = apply<op>(*a, *b, 0);
    for (int64_t i = 0; i < n; ++i) out[i] = value;
  } else if (o.b.splat) {
    const float y = *b;
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = apply<op>(a[i], y, 0);
  } else if (o.a.splat) {
    const float x = *a;
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = apply<op>(x, b[i], 0);
  } else {
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = apply<op>(a[i], b[i], 0);
  }
}

template <Op op>
void three(const Operands& o) {
  const float* a = o.a.data;
  const float* b = o.b.data;
  const float* c = o.c.data;
  float* out = o.out;
  const int64_t n = o.n;
  if (!o.a.splat && o.b.splat && o.c.splat) {
    const float y = *b;
    const float z = *c;
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = apply<op>(a[i], y, z);
  } else if (!o.a.splat && o.b.splat) {
    const float y = *b;
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = apply<op>(a[i], y, c[i]);
  } else if (!o.a.splat && o.c.splat) {
    const float z = *c;
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = apply<op>(a[i], b[i], z);
  } else if (!o.a.splat) {
    BERTH_SIMD
    for (int64_t i = 0; i < n; ++i) out[i] = apply<op>(a[i], b[i], c[i]);
  } else {
    const int64_t a_step = o.a.splat ? 0 : 1;
    const int64_t b_step = o.b.splat ? 0 : 1;
    const int64_t c_step = o.c.splat ? 0 : 1;
    for (int64_t i = 0; i < n; ++i) out[i] = apply<op>(a[i * a_step], b[i * b_step], c[i * c_step]);
  }
}

using Loop = void (*)(const Operands&);

template <int op>
constexpr Loop loop() {
  constexpr auto known = static_cast<Op>(op);
  if constexpr (elementwise::operands(known) == 1) return one<known>;
  if constexpr (elementwise::operands(known) == 2) return two<known>;
  if constexpr (elementwise::operands(known) == 3) return three<known>;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif  // BERTH_CPU_ELEMENT_LOOPS_INL_H_
