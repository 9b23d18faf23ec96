#include "kernels/cpu/interleave.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/interleave.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
constexpr int64_t kLanes = HWY_LANES(float);

void merge(const float* a, const float* b, int64_t n, float* out) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  for (; i + kLanes <= n; i += kLanes) hn::StoreInterleaved2(hn::LoadU(d, a + i), hn::LoadU(d, b + i), d, out + 2 * i);
#endif
  for (; i < n; ++i) {
    out[2 * i] = a[i];
    out[2 * i + 1] = b[i];
  }
}

void part(const float* in, int64_t n, float* a, float* b) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  for (; i + kLanes <= n; i += kLanes) {
    hn::Vec<decltype(d)> even;
    hn::Vec<decltype(d)> odd;
    hn::LoadInterleaved2(d, in + 2 * i, even, odd);
    hn::StoreU(even, d, a + i);
    hn::StoreU(odd, d, b + i);
  }
#endif
  for (; i < n; ++i) {
    a[i] = in[2 * i];
    b[i] = in[2 * i + 1];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(merge);
HWY_EXPORT(part);

void interleave(const float* a, const float* b, int64_t n, float* out) { HWY_DYNAMIC_DISPATCH(merge)(a, b, n, out); }

void deinterleave(const float* in, int64_t n, float* a, float* b) { HWY_DYNAMIC_DISPATCH(part)(in, n, a, b); }

}  // namespace berth::cpu
#endif
