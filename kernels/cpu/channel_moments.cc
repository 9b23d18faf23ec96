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

// Channels that fill kVectors registers, or, where that is 0, `rest` of them, which fill a part of one.
template <int kVectors>
constexpr int kRegisters = kVectors == 0 ? 1 : kVectors;

template <int kVectors>
HWY_INLINE FloatVector load_channels(const float* from, int64_t rest) {
  if constexpr (kVectors == 0) return load_part(from, rest);
  return hn::LoadU(FloatTag(), from);
}

template <int kVectors>
HWY_INLINE void store_channels(FloatVector x, float* to, int64_t rest) {
  if constexpr (kVectors == 0) {
    store_part(x, to, rest);
  } else {
    hn::StoreU(x, FloatTag(), to);
  }
}

// The sums over `pixels` of f(x).
template <int kVectors, typename Function>
HWY_INLINE void add_up(const float* x, int64_t pixels, int64_t channels, int64_t rest, const Function& f,
                       FloatVector (&sum)[kRegisters<kVectors>]) {
  constexpr int kCount = kRegisters<kVectors>;
  const FloatTag d;
  BERTH_UNROLL_FULL
  for (int v = 0; v < kCount; ++v) sum[v] = hn::Zero(d);
  for (int64_t first = 0; first < pixels; first += kRun) {
    FloatVector run[kCount];
    BERTH_UNROLL_FULL
    for (int v = 0; v < kCount; ++v) run[v] = hn::Zero(d);
    const int64_t end = std::min(pixels, first + kRun);
    for (int64_t i = first; i < end; ++i) {
      BERTH_UNROLL_FULL
      for (int v = 0; v < kCount; ++v)
        run[v] = f(v, load_channels<kVectors>(x + i * channels + v * kLanes, rest), run[v]);
    }
    BERTH_UNROLL_FULL
    for (int v = 0; v < kCount; ++v) sum[v] = hn::Add(sum[v], run[v]);
  }
}

template <int kVectors>
HWY_INLINE void moments_of(const float* x, int64_t pixels, int64_t channels, int64_t rest, float* mean,
                           float* squares) {
  constexpr int kCount = kRegisters<kVectors>;
  const FloatTag d;
  FloatVector sum[kCount], middle[kCount];
  add_up<kVectors>(
      x, pixels, channels, rest,
      [](int, FloatVector value, FloatVector before) HWY_ATTR { return hn::Add(before, value); }, sum);
  BERTH_UNROLL_FULL
  for (int v = 0; v < kCount; ++v) {
    middle[v] = hn::Div(sum[v], hn::Set(d, static_cast<float>(pixels)));
    store_channels<kVectors>(middle[v], mean + v * kLanes, rest);
  }
  add_up<kVectors>(
      x, pixels, channels, rest,
      [&](int v, FloatVector value, FloatVector before) HWY_ATTR {
        const FloatVector off = hn::Sub(value, middle[v]);
        return hn::MulAdd(off, off, before);
      },
      sum);
  BERTH_UNROLL_FULL
  for (int v = 0; v < kCount; ++v) store_channels<kVectors>(sum[v], squares + v * kLanes, rest);
}

void moments(const float* x, int64_t pixels, int64_t channels, float* mean, float* squares) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) moments_of<4>(x + c, pixels, channels, 0, mean + c, squares + c);
  for (; c + kLanes <= channels; c += kLanes) moments_of<1>(x + c, pixels, channels, 0, mean + c, squares + c);
  if (c < channels) moments_of<0>(x + c, pixels, channels, channels - c, mean + c, squares + c);
}

void normalize(const float* x, int64_t pixels, const ChannelAffine& affine, float* y) {
  const FloatTag d;
  const int64_t channels = affine.channels;
  const int64_t whole = channels / kLanes * kLanes, rest = channels - whole;
  const auto normalized = [&](FloatVector value, FloatVector mean, FloatVector scale, FloatVector shift)
                              HWY_ATTR { return hn::MulAdd(hn::Sub(value, mean), scale, shift); };
  const FloatVector mean = load_part(affine.mean + whole, rest), scale = load_part(affine.scale + whole, rest),
                    shift = load_part(affine.shift + whole, rest);
  for (int64_t i = 0; i < pixels; ++i, x += channels, y += channels) {
    for (int64_t c = 0; c < whole; c += kLanes) {
      hn::StoreU(normalized(hn::LoadU(d, x + c), hn::LoadU(d, affine.mean + c), hn::LoadU(d, affine.scale + c),
                            hn::LoadU(d, affine.shift + c)),
                 d, y + c);
    }
    if (rest > 0) store_part(normalized(load_part(x + whole, rest), mean, scale, shift), y + whole, rest);
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
