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
template <typename T>
using Tag = hn::CappedTag<T, sizeof(T) == 1 ? 16 : HWY_LANES(T)>;

#if HWY_TARGET != HWY_SCALAR
template <int kCount, class D, typename T>
HWY_INLINE void interleave_registers(D d, const T* in, int64_t stride, T* out) {
  const auto a = hn::LoadU(d, in);
  const auto b = hn::LoadU(d, in + stride);
  if constexpr (kCount == 2) hn::StoreInterleaved2(a, b, d, out);
  if constexpr (kCount == 3) hn::StoreInterleaved3(a, b, hn::LoadU(d, in + 2 * stride), d, out);
  if constexpr (kCount == 4) {
    hn::StoreInterleaved4(a, b, hn::LoadU(d, in + 2 * stride), hn::LoadU(d, in + 3 * stride), d, out);
  }
}

template <int kCount, class D, typename T>
HWY_INLINE void deinterleave_registers(D d, const T* in, T* out, int64_t stride) {
  hn::Vec<D> v[4];
  if constexpr (kCount == 2) hn::LoadInterleaved2(d, in, v[0], v[1]);
  if constexpr (kCount == 3) hn::LoadInterleaved3(d, in, v[0], v[1], v[2]);
  if constexpr (kCount == 4) hn::LoadInterleaved4(d, in, v[0], v[1], v[2], v[3]);
  for (int s = 0; s < kCount; ++s) hn::StoreU(v[s], d, out + s * stride);
}

// Calls f(d, i) for whole registers that cover [0, n); the last one reaches back over what is done. False when n is
// less than one. Registers of bytes are small: many a pixel has fewer channels than a large one, and moving bytes
// across it takes code.
template <typename T, typename F>
HWY_INLINE bool for_each_register(int64_t n, F f) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  if (n < lanes) return false;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  if (i < n) f(d, n - lanes);
  return true;
}
#endif

template <int kCount, typename T>
void interleave_streams(const T* in, int64_t stride, int64_t n, T* out) {
#if HWY_TARGET != HWY_SCALAR
  const auto merge = [&](auto d, int64_t i)
                         HWY_ATTR { interleave_registers<kCount>(d, in + i, stride, out + kCount * i); };
  if (for_each_register<T>(n, merge)) return;
#endif
  for (int64_t i = 0; i < n; ++i) {
    for (int s = 0; s < kCount; ++s) out[kCount * i + s] = in[s * stride + i];
  }
}

template <int kCount, typename T>
void deinterleave_streams(const T* in, int64_t n, T* out, int64_t stride) {
#if HWY_TARGET != HWY_SCALAR
  const auto part = [&](auto d, int64_t i)
                        HWY_ATTR { deinterleave_registers<kCount>(d, in + kCount * i, out + i, stride); };
  if (for_each_register<T>(n, part)) return;
#endif
  for (int64_t i = 0; i < n; ++i) {
    for (int s = 0; s < kCount; ++s) out[s * stride + i] = in[kCount * i + s];
  }
}

template <typename T>
void merge(const T* in, int64_t stride, int count, int64_t n, T* out) {
  if (count == 2) return interleave_streams<2>(in, stride, n, out);
  if (count == 3) return interleave_streams<3>(in, stride, n, out);
  interleave_streams<4>(in, stride, n, out);
}

template <typename T>
void part(const T* in, int count, int64_t n, T* out, int64_t stride) {
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
    const auto merge = [&](auto d, int64_t i) HWY_ATTR {
      hn::StoreInterleaved2(hn::LoadU(d, a + i), hn::LoadU(d, b + i), d, out + 2 * i);
    };
    if (for_each_register<float>(pair.n, merge)) continue;
#endif
    for (int64_t i = 0; i < pair.n; ++i) {
      out[2 * i] = a[i];
      out[2 * i + 1] = b[i];
    }
  }
}

void merge_floats(const float* in, int64_t stride, int count, int64_t n, float* out) {
  merge(in, stride, count, n, out);
}
void merge_bytes(const uint8_t* in, int64_t stride, int count, int64_t n, uint8_t* out) {
  merge(in, stride, count, n, out);
}
void part_floats(const float* in, int count, int64_t n, float* out, int64_t stride) { part(in, count, n, out, stride); }
void part_bytes(const uint8_t* in, int count, int64_t n, uint8_t* out, int64_t stride) {
  part(in, count, n, out, stride);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(merge_floats);
HWY_EXPORT(merge_bytes);
HWY_EXPORT(part_floats);
HWY_EXPORT(part_bytes);
HWY_EXPORT(merge_rows);

void interleave(const float* in, int64_t stride, int count, int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(merge_floats)(in, stride, count, n, out);
}
void interleave(const uint8_t* in, int64_t stride, int count, int64_t n, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(merge_bytes)(in, stride, count, n, out);
}

void deinterleave(const float* in, int count, int64_t n, float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(part_floats)(in, count, n, out, stride);
}
void deinterleave(const uint8_t* in, int count, int64_t n, uint8_t* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(part_bytes)(in, count, n, out, stride);
}

void interleave_rows(const RowPair& pair) { HWY_DYNAMIC_DISPATCH(merge_rows)(pair); }

}  // namespace berth::cpu
#endif
