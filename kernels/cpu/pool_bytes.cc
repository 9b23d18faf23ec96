#include "kernels/cpu/pool_bytes.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pool_bytes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The part of a window that lies inside an axis of the input: `count` elements from `first` on, in steps of the
// dilation.
struct Inside {
  int64_t first, count;

  // Steps of the dilation that reach `distance`. A division takes as long as a pixel.
  static int64_t steps(int64_t distance, int64_t step) { return step == 1 ? distance : (distance + step - 1) / step; }

  Inside(const portable::WindowAxis& axis, int64_t position) {
    const int64_t start = position * axis.stride - axis.padding;
    const int64_t skipped = start < 0 ? steps(-start, axis.dilation) : 0;
    const int64_t last = std::min(axis.kernel, steps(axis.in - start, axis.dilation));
    first = start + skipped * axis.dilation;
    count = std::max<int64_t>(0, last - skipped);
  }
};

template <typename T>
struct Taps {
  const T* in;
  int64_t rows, row_stride;
  int64_t columns, column_stride;
  T sign;  // of bytes: the bit to be turned over, if any
};

// Elements as signed integers in their order, and back: bytes with the sign turned over where they have none; bf16 with
// all other bits turned over below zero.
template <class D>
HWY_INLINE hn::Vec<D> turned(D d, hn::Vec<D> x, hn::Vec<D> sign) {
  if constexpr (sizeof(hn::TFromD<D>) == 1) return hn::Xor(x, sign);
  if constexpr (sizeof(hn::TFromD<D>) == 2) return hn::Xor(x, hn::And(hn::ShiftRight<15>(x), hn::Set(d, 0x7fff)));
}
// NaNs below zero, which would be the least then: all others move down by so many, and they become the largest.
template <class D>
HWY_INLINE hn::Vec<D> negative_nans(D d) {
  return hn::Set(d, sizeof(hn::TFromD<D>) == 2 ? 0x7f : 0);
}

// A register of channels.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void most_of(D d, const Taps<T>& taps, int64_t channel, T* out) {
  const auto sign = hn::Set(d, taps.sign);
  auto most = hn::Set(d, std::numeric_limits<T>::lowest());
  for (int64_t y = 0; y < taps.rows; ++y) {
    const T* in = taps.in + y * taps.row_stride + channel;
    for (int64_t x = 0; x < taps.columns; ++x) {
      const auto element = hn::LoadU(d, in + x * taps.column_stride);
      most = hn::Max(most, hn::Sub(turned(d, element, sign), negative_nans(d)));
    }
  }
  hn::StoreU(turned(d, hn::Add(most, negative_nans(d)), sign), d, out + channel);
}

// Whole registers, of which the last may reach back over channels that are done. False if there are fewer channels than
// one has.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE bool most_in_registers(D d, const Taps<T>& taps, int64_t channels, T* out) {
  const auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  if (channels < lanes) return false;
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) most_of(d, taps, c, out);
  if (c < channels) most_of(d, taps, channels - lanes, out);
  return true;
}

template <typename T>
HWY_INLINE void most_of_pixel(const Taps<T>& taps, int64_t channels, T* out) {
  // Where there are fewer channels than a register has, a smaller one takes them.
  if (most_in_registers(hn::ScalableTag<T>(), taps, channels, out)) return;
  if (most_in_registers(hn::CappedTag<T, 16>(), taps, channels, out)) return;
  most_in_registers(hn::CappedTag<T, 1>(), taps, channels, out);
}

template <typename T>
void pool_row(const SmallPooling& p, int64_t row) {
  const int64_t line = p.width.in * p.channels;
  const T* in = static_cast<const T*>(p.in) + row / p.height.out * p.height.in * line;
  T* out = static_cast<T*>(p.out) + row * p.width.out * p.channels;
  const T sign = p.type == DType::kU8 ? std::numeric_limits<T>::lowest() : T{0};
  const Inside rows(p.height, row % p.height.out);
  for (int64_t x = 0; x < p.width.out; ++x, out += p.channels) {
    const Inside columns(p.width, x);
    most_of_pixel<T>({in + rows.first * line + columns.first * p.channels, rows.count, p.height.dilation * line,
                      columns.count, p.width.dilation * p.channels, sign},
                     p.channels, out);
  }
}

}  // namespace

void pool_rows_of(const SmallPooling& pooling, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    pooling.type == DType::kBF16 ? pool_row<int16_t>(pooling, row) : pool_row<int8_t>(pooling, row);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(pool_rows_of);

void pool_small_rows(const SmallPooling& pooling, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(pool_rows_of)(pooling, begin, end);
}

}  // namespace berth::cpu
#endif
