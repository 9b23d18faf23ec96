#include "kernels/cpu/element_range.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/element_range.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = HWY_LANES(float);
constexpr int kVectors = 4;

void join(float x, ElementRange* range) {
  if (!(x >= range->low)) range->low = x;
  if (!(x <= range->high)) range->high = x;
}

}  // namespace

// Which of NaN and a number is more depends on the processor, so that NaN is looked for apart.
ElementRange range_of(const float* in, int64_t n) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const Floats d;
  ElementRange range = {in[0], in[0]};
  int64_t i = 0;
  bool any_nan = false;
  if (n >= kVectors * kLanes) {
    Vector low[kVectors];
    Vector high[kVectors];
    auto nan = hn::MaskFromVec(hn::Zero(d));
    for (int v = 0; v < kVectors; ++v) low[v] = high[v] = hn::LoadU(d, in + v * kLanes);
    for (; i + kVectors * kLanes <= n; i += kVectors * kLanes) {
      for (int v = 0; v < kVectors; ++v) {
        const Vector x = hn::LoadU(d, in + i + v * kLanes);
        low[v] = hn::Min(low[v], x);
        high[v] = hn::Max(high[v], x);
        nan = hn::Or(nan, hn::IsNaN(x));
      }
    }
    any_nan = !hn::AllFalse(d, nan);
    for (int v = 1; v < kVectors; ++v) {
      low[0] = hn::Min(low[0], low[v]);
      high[0] = hn::Max(high[0], high[v]);
    }
    range = {hn::GetLane(hn::MinOfLanes(d, low[0])), hn::GetLane(hn::MaxOfLanes(d, high[0]))};
  }
  for (; i < n; ++i) {
    join(in[i], &range);
    any_nan = any_nan || in[i] != in[i];
  }
  return any_nan ? ElementRange{kNaN, kNaN} : range;
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(range_of);

ElementRange element_range(const float* in, int64_t n) { return HWY_DYNAMIC_DISPATCH(range_of)(in, n); }

}  // namespace berth::cpu
#endif
