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
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
[[maybe_unused]] constexpr int64_t kLanes = HWY_LANES(float);

#if HWY_TARGET != HWY_SCALAR
template <int kCount>
HWY_INLINE void interleave_registers(const float* in, int64_t stride, float* out) {
  const Tag d;
  const Vector a = hn::LoadU(d, in);
  const Vector b = hn::LoadU(d, in + stride);
  if constexpr (kCount == 2) hn::StoreInterleaved2(a, b, d, out);
  if constexpr (kCount == 3) hn::StoreInterleaved3(a, b, hn::LoadU(d, in + 2 * stride), d, out);
  if constexpr (kCount == 4) {
    hn::StoreInterleaved4(a, b, hn::LoadU(d, in + 2 * stride), hn::LoadU(d, in + 3 * stride), d, out);
  }
}

template <int kCount>
HWY_INLINE void deinterleave_registers(const float* in, float* out, int64_t stride) {
  const Tag d;
  Vector v[4];
  if constexpr (kCount == 2) hn::LoadInterleaved2(d, in, v[0], v[1]);
  if constexpr (kCount == 3) hn::LoadInterleaved3(d, in, v[0], v[1], v[2]);
  if constexpr (kCount == 4) hn::LoadInterleaved4(d, in, v[0], v[1], v[2], v[3]);
  for (int s = 0; s < kCount; ++s) hn::StoreU(v[s], d, out + s * stride);
}

// Calls f(i) for whole registers that cover [0, n); the last one reaches back over what is done. False when n is less
// than one.
template <typename F>
HWY_INLINE bool for_each_register(int64_t n, F f) {
  if (n < kLanes) return false;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i);
  if (i < n) f(n - kLanes);
  return true;
}
#endif

template <int kCount>
void interleave_streams(const float* in, int64_t stride, int64_t n, float* out) {
#if HWY_TARGET != HWY_SCALAR
  const auto merge = [&](int64_t i) HWY_ATTR { interleave_registers<kCount>(in + i, stride, out + kCount * i); };
  if (for_each_register(n, merge)) return;
#endif
  for (int64_t i = 0; i < n; ++i) {
    for (int s = 0; s < kCount; ++s) out[kCount * i + s] = in[s * stride + i];
  }
}

template <int kCount>
void deinterleave_streams(const float* in, int64_t n, float* out, int64_t stride) {
#if HWY_TARGET != HWY_SCALAR
  const auto part = [&](int64_t i) HWY_ATTR { deinterleave_registers<kCount>(in + kCount * i, out + i, stride); };
  if (for_each_register(n, part)) return;
#endif
  for (int64_t i = 0; i < n; ++i) {
    for (int s = 0; s < kCount; ++s) out[s * stride + i] = in[kCount * i + s];
  }
}

void merge(const float* in, int64_t stride, int count, int64_t n, float* out) {
  if (count == 2) return interleave_streams<2>(in, stride, n, out);
  if (count == 3) return interleave_streams<3>(in, stride, n, out);
  interleave_streams<4>(in, stride, n, out);
}

void part(const float* in, int count, int64_t n, float* out, int64_t stride) {
  if (count == 2) return deinterleave_streams<2>(in, n, out, stride);
  if (count == 3) return deinterleave_streams<3>(in, n, out, stride);
  deinterleave_streams<4>(in, n, out, stride);
}

void merge_rows(const RowPair& pair) {
  for (int64_t row = 0; row < pair.rows; ++row) {
    const float* a = pair.a + row * pair.in_row;
    const float* b = pair.b + row * pair.in_row;
    float* out = pair.out + row * 2 * pair.n;
#if HWY_TARGET != HWY_SCALAR
    const auto merge = [&](int64_t i) HWY_ATTR {
      const Tag d;
      hn::StoreInterleaved2(hn::LoadU(d, a + i), hn::LoadU(d, b + i), d, out + 2 * i);
    };
    if (for_each_register(pair.n, merge)) continue;
#endif
    for (int64_t i = 0; i < pair.n; ++i) {
      out[2 * i] = a[i];
      out[2 * i + 1] = b[i];
    }
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
HWY_EXPORT(merge_rows);

void interleave(const float* in, int64_t stride, int count, int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(merge)(in, stride, count, n, out);
}

void deinterleave(const float* in, int count, int64_t n, float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(part)(in, count, n, out, stride);
}

void interleave_rows(const RowPair& pair) { HWY_DYNAMIC_DISPATCH(merge_rows)(pair); }

}  // namespace berth::cpu
#endif
