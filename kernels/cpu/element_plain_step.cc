// Compiled with -ffp-contract=off, so that no product is joined with a sum.
#include <algorithm>
#include <utility>

#include "kernels/cpu/element_step.h"
#include "kernels/portable/fused_elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/element_plain_step.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/element_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// One loop a step: a repeated operand is written out.
using PlainLoop = void (*)(const float* a, const float* b, const float* c, int64_t n, float* out);

template <Op op>
void plain(const float* a, const float* b, const float* c, int64_t n, float* out) {
  constexpr int kOperands = elementwise::operands(op);
  if constexpr (op == Op::kSin) return math::sines(a, n, out);
  if constexpr (op == Op::kCos) return math::cosines(a, n, out);
  BERTH_SIMD
  for (int64_t i = 0; i < n; ++i) out[i] = apply<op>(a[i], kOperands > 1 ? b[i] : 0, kOperands > 2 ? c[i] : 0);
}

// Those that hardly ever come before bytes have no loop of their own here: 18 KB of the wheel.
constexpr bool is_rare(Op op) { return op == Op::kLog1p || op == Op::kExpm1 || op == Op::kMish; }

template <int op>
constexpr PlainLoop inexact_loop() {
  constexpr auto known = static_cast<Op>(op);
  if constexpr (elementwise::is_exact(known) || is_rare(known)) {
    return nullptr;
  } else {
    return plain<known>;
  }
}

template <int... ops>
PlainLoop loop_of(std::integer_sequence<int, ops...>, Op op) {
  static constexpr PlainLoop kLoops[] = {inexact_loop<ops>()...};
  return kLoops[static_cast<int>(op)];
}

}  // namespace

void plain_step(Op op, const ElementRun& a, const ElementRun& b, const ElementRun& c, int64_t n, float* out) {
  if (is_rare(op)) {
    portable::run_plain_step(op, a.data, nullptr, nullptr, a.splat ? 1 : n, out);
    if (a.splat) std::fill_n(out, n, *out);
    return;
  }
  const PlainLoop run = loop_of(std::make_integer_sequence<int, static_cast<int>(elementwise::kOps)>(), op);
  const ElementRun* const operands[] = {&a, &b, &c};
  constexpr int64_t kPart = 256;
  float repeated[3][kPart];
  bool any = false;
  for (int k = 0; k < elementwise::operands(op); ++k) {
    if (!operands[k]->splat) continue;
    std::fill_n(repeated[k], std::min(kPart, n), *operands[k]->data);
    any = true;
  }
  const int64_t part = any ? kPart : n;
  for (int64_t i = 0; i < n; i += part) {
    const float* from[3] = {};
    for (int k = 0; k < elementwise::operands(op); ++k) {
      from[k] = operands[k]->splat ? repeated[k] : operands[k]->data + i;
    }
    run(from[0], from[1], from[2], std::min(part, n - i), out + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(plain_step);

void run_plain_element_step(elementwise::Op op, const ElementRun& a, const ElementRun& b, const ElementRun& c,
                            int64_t n, float* out) {
  if (elementwise::is_exact(op)) return run_element_step(op, a, b, c, n, out);
  HWY_DYNAMIC_DISPATCH(plain_step)(op, a, b, c, n, out);
}

}  // namespace berth::cpu
#endif
