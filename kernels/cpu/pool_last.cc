#include "kernels/cpu/pool_last.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/pool_reach.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pool_last.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/simd_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// Taps of a window that lie inside the input: rows of pixels, each a run of channels.
struct Taps {
  const float* in;
  int64_t rows, row_stride;
  int64_t columns, column_stride;
};

HWY_INLINE void max_channel(const Taps& taps, int64_t channel, float* out) {
  float most = -std::numeric_limits<float>::infinity();
  for (int64_t y = 0; y < taps.rows; ++y) {
    for (int64_t x = 0; x < taps.columns; ++x) {
      const float value = taps.in[y * taps.row_stride + x * taps.column_stride + channel];
      if (value > most || value != value) most = value;
    }
  }
  out[channel] = most;
}

// The largest over all taps of kVectors registers of channels, from `channel` on. The sums tell whether there may be a
// NaN, at the price of an addition a tap; then, and where infinities of both signs meet, channels go one by one.
// kTaps is the size of the window where it is square and whole, else 0.
template <int kVectors, int kTaps>
HWY_INLINE void max_block(const Taps& taps, int64_t channel, float* out) {
  const FloatTag d;
  FloatVector most[kVectors];
  FloatVector sum[kVectors];
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) {
    most[v] = hn::Set(d, -std::numeric_limits<float>::infinity());
    sum[v] = hn::Zero(d);
  }
  const int64_t rows = kTaps > 0 ? kTaps : taps.rows;
  const int64_t columns = kTaps > 0 ? kTaps : taps.columns;
  for (int64_t y = 0; y < rows; ++y) {
    const float* in = taps.in + y * taps.row_stride + channel;
    for (int64_t x = 0; x < columns; ++x, in += taps.column_stride) {
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) {
        const FloatVector value = hn::LoadU(d, in + v * kLanes);
        most[v] = hn::Max(most[v], value);
        sum[v] = hn::Add(sum[v], value);
      }
    }
  }
  FloatVector all = sum[0];
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(most[v], d, out + channel + v * kLanes);
    if (v > 0) all = hn::Add(all, sum[v]);
  }
  if (HWY_LIKELY(hn::AllFalse(d, hn::IsNaN(all)))) return;
  for (int64_t c = channel; c < channel + kVectors * kLanes; ++c) max_channel(taps, c, out);
}

template <int kVectors>
HWY_INLINE void sum_block(const Taps& taps, int64_t channel, float divisor, float* out) {
  const FloatTag d;
  FloatVector sum[kVectors];
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  for (int64_t y = 0; y < taps.rows; ++y) {
    const float* in = taps.in + y * taps.row_stride + channel;
    for (int64_t x = 0; x < taps.columns; ++x, in += taps.column_stride) {
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) sum[v] = hn::Add(sum[v], hn::LoadU(d, in + v * kLanes));
    }
  }
  BERTH_UNROLL_FULL
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(hn::Div(sum[v], hn::Set(d, divisor)), d, out + channel + v * kLanes);
  }
}

HWY_INLINE void sum_channel(const Taps& taps, int64_t channel, float divisor, float* out) {
  float sum = 0;
  for (int64_t y = 0; y < taps.rows; ++y) {
    for (int64_t x = 0; x < taps.columns; ++x) {
      sum += taps.in[y * taps.row_stride + x * taps.column_stride + channel];
    }
  }
  out[channel] = sum / divisor;
}

template <int kTaps>
void max_window(const Taps& taps, int64_t channels, float* out) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) max_block<4, kTaps>(taps, c, out);
  for (; c + kLanes <= channels; c += kLanes) max_block<1, kTaps>(taps, c, out);
  // The last register may reach back over channels that are done.
  if (c < channels && channels >= kLanes) return max_block<1, kTaps>(taps, channels - kLanes, out);
  for (; c < channels; ++c) max_channel(taps, c, out);
}

void max_pixel(const Taps& taps, int64_t channels, float* out) {
  if (taps.rows == 3 && taps.columns == 3) return max_window<3>(taps, channels, out);
  if (taps.rows == 2 && taps.columns == 2) return max_window<2>(taps, channels, out);
  max_window<0>(taps, channels, out);
}

void sum_pixel(const Taps& taps, int64_t channels, float divisor, float* out) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) sum_block<4>(taps, c, divisor, out);
  for (; c + kLanes <= channels; c += kLanes) sum_block<1>(taps, c, divisor, out);
  if (c < channels && channels >= kLanes) return sum_block<1>(taps, channels - kLanes, divisor, out);
  for (; c < channels; ++c) sum_channel(taps, c, divisor, out);
}

HWY_INLINE Reach reach_in(const LastPooling& p, const portable::WindowAxis& axis, int64_t position) {
  if (p.kind == LastPooling::kAdaptive) {
    const int64_t first = position * axis.in / axis.out;
    const int64_t count = ((position + 1) * axis.in + axis.out - 1) / axis.out - first;
    return {first, count, count};
  }
  return reach_of(axis, position, p.count_include_pad);
}

void pool_row(const LastPooling& p, int64_t row) {
  const int64_t line = p.width.in * p.channels;
  const float* in = p.in + row / p.height.out * p.height.in * line;
  float* out = p.out + row * p.width.out * p.channels;
  const Reach rows = reach_in(p, p.height, row % p.height.out);
  for (int64_t x = 0; x < p.width.out; ++x, out += p.channels) {
    const Reach columns = reach_in(p, p.width, x);
    const Taps taps = {in + rows.first * line + columns.first * p.channels, rows.count, p.height.dilation * line,
                       columns.count, p.width.dilation * p.channels};
    if (p.kind == LastPooling::kMax) {
      max_pixel(taps, p.channels, out);
    } else if (rows.count == 0 || columns.count == 0) {
      std::fill(out, out + p.channels, 0.0f);
    } else {
      const int64_t divisor = p.divisor != 0 ? p.divisor : rows.counted * columns.counted;
      sum_pixel(taps, p.channels, static_cast<float>(divisor), out);
    }
  }
}

void rows_of(const LastPooling& pooling, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) pool_row(pooling, row);
}

// Few channels: several pixels are summed side by side, as if they were one with more channels.
constexpr int64_t kFew = 64;

void sum_all(const float* in, int64_t pixels, int64_t stride, int64_t channels, float factor, float* out) {
  const int64_t together = stride == channels ? std::min(pixels, kFew / channels) : 1;
  if (together > 1) {
    float sums[kFew];
    const int64_t groups = pixels / together;
    sum_pixel({in, 1, 0, groups, together * channels}, together * channels, 1, sums);
    for (int64_t i = groups * together; i < pixels; ++i) {
      for (int64_t c = 0; c < channels; ++c) sums[c] += in[i * channels + c];
    }
    for (int64_t c = 0; c < channels; ++c) {
      float sum = 0;
      for (int64_t i = 0; i < together; ++i) sum += sums[i * channels + c];
      out[c] = sum * factor;
    }
    return;
  }
  sum_pixel({in, 1, 0, pixels, stride}, channels, 1, out);
  for (int64_t c = 0; c < channels; ++c) out[c] *= factor;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(rows_of);
HWY_EXPORT(sum_all);

void pool_rows(const LastPooling& pooling, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(rows_of)(pooling, begin, end);
}

void sum_pixels(const float* in, int64_t pixels, int64_t stride, int64_t channels, float factor, float* out) {
  HWY_DYNAMIC_DISPATCH(sum_all)(in, pixels, stride, channels, factor, out);
}

}  // namespace berth::cpu
#endif
