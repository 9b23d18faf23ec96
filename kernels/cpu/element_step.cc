#include "kernels/cpu/element_step.h"

#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/element_step.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/element_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

using elementwise::Op;

template <int... ops>
void run_one_of(std::integer_sequence<int, ops...>, Op op, const Operands& operands) {
  static constexpr Loop kLoops[] = {loop<ops>()...};
  kLoops[static_cast<int>(op)](operands);
}

void run_step(Op op, const Operands& operands) {
  run_one_of(std::make_integer_sequence<int, static_cast<int>(elementwise::kOps)>(), op, operands);
}

template <int count, bool relu>
void add_all(const ElementSum& sum, int64_t begin, int64_t end, float* out) {
  const float* a = sum.data[0];
  const float* b = sum.data[1];
  const float* c = sum.data[2];
  const float* d = sum.data[3];
  BERTH_SIMD
  for (int64_t i = begin; i < end; ++i) {
    float y = a[i] + b[i];
    if constexpr (count > 2) y += c[i];
    if constexpr (count > 3) y += d[i];
    out[i] = relu ? apply<Op::kRelu>(y, 0, 0) : y;
  }
}

}  // namespace

void add_up(const ElementSum& sum, int64_t begin, int64_t end, float* out) {
  switch (sum.count) {
    case 2: return sum.relu ? add_all<2, true>(sum, begin, end, out) : add_all<2, false>(sum, begin, end, out);
    case 3: return sum.relu ? add_all<3, true>(sum, begin, end, out) : add_all<3, false>(sum, begin, end, out);
    default: return sum.relu ? add_all<4, true>(sum, begin, end, out) : add_all<4, false>(sum, begin, end, out);
  }
}

void step(Op op, const ElementRun& a, const ElementRun& b, const ElementRun& c, int64_t n, float* out) {
  run_step(op, {a, b, c, n, out});
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(add_up);
HWY_EXPORT(step);

void run_element_sum(const ElementSum& sum, int64_t begin, int64_t end, float* out) {
  HWY_DYNAMIC_DISPATCH(add_up)(sum, begin, end, out);
}

void run_element_step(elementwise::Op op, const ElementRun& a, const ElementRun& b, const ElementRun& c, int64_t n,
                      float* out) {
  HWY_DYNAMIC_DISPATCH(step)(op, a, b, c, n, out);
}

}  // namespace berth::cpu
#endif
