// Compiled with -ffp-contract=off, so that no product is joined with a sum.
#include <utility>

#include "kernels/cpu/element_step.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/element_plain_step.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/element_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

template <int op>
constexpr Loop inexact_loop() {
  if constexpr (elementwise::is_exact(static_cast<elementwise::Op>(op)))
    return nullptr;
  else
    return loop<op>();
}

template <int... ops>
void run_inexact(std::integer_sequence<int, ops...>, elementwise::Op op, const Operands& operands) {
  static constexpr Loop kLoops[] = {inexact_loop<ops>()...};
  kLoops[static_cast<int>(op)](operands);
}

}  // namespace

void plain_step(elementwise::Op op, const ElementRun& a, const ElementRun& b, const ElementRun& c, int64_t n,
                float* out) {
  run_inexact(std::make_integer_sequence<int, static_cast<int>(elementwise::kOps)>(), op, {a, b, c, n, out});
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
