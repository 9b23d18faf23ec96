// What group norm does to rows of channels.
#include <algorithm>

#include "kernels/cpu/group_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/channel_moments.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// Sums are made of the sums of so many pixels, each rounded for itself.
constexpr int64_t kRun = 32;

// The sums over `pixels` of f(x) for kVectors registers of channels.
template <int kVectors, typename Function>
HWY_INLINE void add_up(const float* x, int64_t pixels, int64_t channels, const Function& f,
                       FloatVector (&sum)[kVectors]) {
  const FloatTag d;
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  for (int64_t first = 0; first < pixels; first += kRun) {
    FloatVector run[kVectors];
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) run[v] = hn::Zero(d);
    const int64_t end = std::min(pixels, first + kRun);
    for (int64_t i = first; i < end; ++i) {
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) run[v] = f(v, hn::LoadU(d, x + i * channels + v * kLanes), run[v]);
    }
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], run[v]);
  }
}

template <int kVectors>
HWY_INLINE void moments_of(const float* x, int64_t pixels, int64_t channels, float* mean, float* squares) {
  const FloatTag d;
  FloatVector sum[kVectors], middle[kVectors];
  add_up(
      x, pixels, channels, [](int, FloatVector value, FloatVector before) HWY_ATTR { return hn::Add(before, value); },
      sum);
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) {
    middle[v] = hn::Div(sum[v], hn::Set(d, static_cast<float>(pixels)));
    hn::StoreU(middle[v], d, mean + v * kLanes);
  }
  add_up(
      x, pixels, channels,
      [&](int v, FloatVector value, FloatVector before) HWY_ATTR {
        const FloatVector off = hn::Sub(value, middle[v]);
        return hn::MulAdd(off, off, before);
      },
      sum);
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, squares + v * kLanes);
}

// A channel that fills no register.
void moments_of_one(const float* x, int64_t pixels, int64_t channels, float* mean, float* squares) {
  double sum = 0;
  for (int64_t i = 0; i < pixels; ++i) sum += static_cast<double>(x[i * channels]);
  const double middle = sum / static_cast<double>(pixels);
  sum = 0;
  for (int64_t i = 0; i < pixels; ++i) {
    const double off = static_cast<double>(x[i * channels]) - middle;
    sum += off * off;
  }
  *mean = static_cast<float>(middle);
  *squares = static_cast<float>(sum);
}

void moments(const float* x, int64_t pixels, int64_t channels, float* mean, float* squares) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) moments_of<4>(x + c, pixels, channels, mean + c, squares + c);
  for (; c + kLanes <= channels; c += kLanes) moments_of<1>(x + c, pixels, channels, mean + c, squares + c);
  for (; c < channels; ++c) moments_of_one(x + c, pixels, channels, mean + c, squares + c);
}

void normalize(const float* x, int64_t pixels, const ChannelAffine& affine, float* y) {
  const FloatTag d;
  const int64_t channels = affine.channels;
  for (int64_t i = 0; i < pixels; ++i, x += channels, y += channels) {
    int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      const FloatVector off = hn::Sub(hn::LoadU(d, x + c), hn::LoadU(d, affine.mean + c));
      hn::StoreU(hn::MulAdd(off, hn::LoadU(d, affine.scale + c), hn::LoadU(d, affine.shift + c)), d, y + c);
    }
    for (; c < channels; ++c) y[c] = (x[c] - affine.mean[c]) * affine.scale[c] + affine.shift[c];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(moments);
HWY_EXPORT(normalize);

void channel_moments(const float* x, int64_t pixels, int64_t channels, float* mean, float* squares) {
  HWY_DYNAMIC_DISPATCH(moments)(x, pixels, channels, mean, squares);
}

void normalize_channels(const float* x, int64_t pixels, const ChannelAffine& affine, float* y) {
  HWY_DYNAMIC_DISPATCH(normalize)(x, pixels, affine, y);
}

}  // namespace berth::cpu
#endif
