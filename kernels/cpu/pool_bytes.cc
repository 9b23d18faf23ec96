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
};

// A register of channels.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void most_of(D d, const Taps<T>& taps, int64_t channel, T* out) {
  auto most = hn::Set(d, std::numeric_limits<T>::lowest());
  for (int64_t y = 0; y < taps.rows; ++y) {
    const T* in = taps.in + y * taps.row_stride + channel;
    for (int64_t x = 0; x < taps.columns; ++x) most = hn::Max(most, hn::LoadU(d, in + x * taps.column_stride));
  }
  hn::StoreU(most, d, out + channel);
}

// REQUIRES: at least a register of channels
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void most_in_registers(D d, const Taps<T>& taps, int64_t channels, T* out) {
  const auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) most_of(d, taps, c, out);
  // The last register may reach back over channels that are done.
  if (c < channels) most_of(d, taps, channels - lanes, out);
}

template <typename T>
HWY_INLINE void most_of_pixel(const Taps<T>& taps, int64_t channels, T* out) {
  const hn::ScalableTag<T> d;
  // Where there are fewer channels than a register has, a smaller one takes them.
  const hn::CappedTag<T, 16> small;
  if (channels >= static_cast<int64_t>(hn::MaxLanes(d))) return most_in_registers(d, taps, channels, out);
  if (channels >= static_cast<int64_t>(hn::MaxLanes(small))) return most_in_registers(small, taps, channels, out);
  for (int64_t c = 0; c < channels; ++c) {
    T most = std::numeric_limits<T>::lowest();
    for (int64_t y = 0; y < taps.rows; ++y) {
      for (int64_t x = 0; x < taps.columns; ++x) {
        most = std::max(most, taps.in[y * taps.row_stride + x * taps.column_stride + c]);
      }
    }
    out[c] = most;
  }
}

template <typename T>
void pool_row(const BytePooling& p, int64_t row) {
  const int64_t line = p.width.in * p.channels;
  const T* in = static_cast<const T*>(p.in) + row / p.height.out * p.height.in * line;
  T* out = static_cast<T*>(p.out) + row * p.width.out * p.channels;
  const Inside rows(p.height, row % p.height.out);
  for (int64_t x = 0; x < p.width.out; ++x, out += p.channels) {
    const Inside columns(p.width, x);
    most_of_pixel<T>({in + rows.first * line + columns.first * p.channels, rows.count, p.height.dilation * line,
                      columns.count, p.width.dilation * p.channels},
                     p.channels, out);
  }
}

}  // namespace

void pool_rows_of(const BytePooling& pooling, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    pooling.is_signed ? pool_row<int8_t>(pooling, row) : pool_row<uint8_t>(pooling, row);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(pool_rows_of);

void pool_byte_rows(const BytePooling& pooling, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(pool_rows_of)(pooling, begin, end);
}

}  // namespace berth::cpu
#endif
