// Depthwise windows of three by three taps side by side: some rows of the result run along the image with all weights
// in registers. What a column of the input holds is loaded once for all rows and pixels that see it. Included once for
// each instruction set.
//
// Include guard: Highway's, one a target.
#if defined(BERTH_CPU_DEPTHWISE_STRIP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_CPU_DEPTHWISE_STRIP_INL_H_
#undef BERTH_CPU_DEPTHWISE_STRIP_INL_H_
#else
#define BERTH_CPU_DEPTHWISE_STRIP_INL_H_
#endif

#include "kernels/cpu/depthwise_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {

/// Rows of the result, one under the other in one image.
struct Strip {
  const float* in;     // the row that the first row's first tap sees, perhaps outside
  int64_t begin, end;  // the rows of the input, counted from `in`, that are inside
  float* out;
  int64_t rows;
};

/// Whether strips are for this window.
inline bool takes_strips(const GroupedJob& job) {
  bool takes = job.is_depthwise() && job.out[1] >= 2 && job.padding[1] <= 1;
  for (int i = 0; i < 2; ++i) {
    takes = takes && job.kernel[i] == 3 && job.dilation[i] == 1 && job.stride[i] == job.stride[0] && job.stride[i] <= 2;
  }
  return takes;
}

using Taps = FloatVector[3][3];

template <bool kPart>
HWY_INLINE void load_taps(const GroupedJob& job, const Columns& columns, Taps& w) {
  BERTH_UNROLL_FULL
  for (int ky = 0; ky < 3; ++ky) {
    BERTH_UNROLL_FULL
    for (int kx = 0; kx < 3; ++kx) {
      w[ky][kx] = load_channels<kPart>(job.weight + (ky * 3 + kx) * job.channels() + columns.first, columns.count);
    }
  }
}

/// Adds what row `iy` of the input holds in one column, as tap `kx` of each row of the result.
template <int kStride, int kRows>
HWY_INLINE void add_tap(const Taps& w, int kx, int iy, FloatVector seen, FloatVector (&sum)[kRows]) {
  BERTH_UNROLL_FULL
  for (int r = 0; r < kRows; ++r) {
    const int ky = iy - r * kStride;
    if (ky >= 0 && ky < 3) sum[r] = hn::MulAdd(seen, w[ky][kx], sum[r]);
  }
}

template <int kRows>
HWY_INLINE void begin_sums(const SumEnds& ends, FloatVector (&sum)[kRows]) {
  BERTH_UNROLL_FULL
  for (int r = 0; r < kRows; ++r) sum[r] = ends.bias;
}

template <int kRows, bool kPart>
HWY_INLINE void end_sums(const SumEnds& ends, const FloatVector (&sum)[kRows], float* out, int64_t out_row,
                         int64_t count) {
  BERTH_UNROLL_FULL
  for (int r = 0; r < kRows; ++r) end_sum<kPart>(ends, sum[r], out + r * out_row, count);
}

template <int kRows>
HWY_INLINE void move_sums(const FloatVector (&from)[kRows], FloatVector (&to)[kRows]) {
  BERTH_UNROLL_FULL
  for (int r = 0; r < kRows; ++r) to[r] = from[r];
}

/// Where kInside, no row of the input is outside.
template <int kRows, bool kPart, bool kInside>
HWY_NOINLINE void near_strip(const GroupedJob& job, const Strip& strip, const Columns& columns) {
  Taps w;
  load_taps<kPart>(job, columns, w);
  const SumEnds ends = ends_of<kPart>(job, columns);
  const int64_t channels = job.channels(), count = columns.count, width = job.out[1];
  const int64_t row = job.in[1] * channels, out_row = width * channels;
  const float* in = strip.in + columns.first - job.padding[1] * channels;
  float* out = strip.out + columns.first;
  const int64_t begin = strip.begin, end = strip.end;
  const auto each_row = [&](auto&& f) {
    BERTH_UNROLL_FULL
    for (int iy = 0; iy < kRows + 2; ++iy) {
      if (kInside || (iy >= begin && iy < end)) f(iy, load_channels<kPart>(in + iy * row, count));
    }
    in += channels;
  };
  // Pixels whose window began here, one column ago, two columns ago.
  FloatVector now[kRows], last[kRows], first[kRows];
  begin_sums(ends, last);
  if (job.padding[1] == 0) {
    each_row([&](int iy, FloatVector seen) { add_tap<1>(w, 0, iy, seen, last); });
  } else {
    in += channels;
  }
  begin_sums(ends, now);
  each_row([&](int iy, FloatVector seen) {
    add_tap<1>(w, 1, iy, seen, last);
    add_tap<1>(w, 0, iy, seen, now);
  });
  for (int64_t x = 2; x < width; ++x) {
    move_sums(last, first);
    move_sums(now, last);
    begin_sums(ends, now);
    each_row([&](int iy, FloatVector seen) {
      add_tap<1>(w, 2, iy, seen, first);
      add_tap<1>(w, 1, iy, seen, last);
      add_tap<1>(w, 0, iy, seen, now);
    });
    end_sums<kRows, kPart>(ends, first, out, out_row, count);
    out += channels;
  }
  each_row([&](int iy, FloatVector seen) {
    add_tap<1>(w, 2, iy, seen, last);
    add_tap<1>(w, 1, iy, seen, now);
  });
  end_sums<kRows, kPart>(ends, last, out, out_row, count);
  if (job.padding[1] == 0) each_row([&](int iy, FloatVector seen) { add_tap<1>(w, 2, iy, seen, now); });
  end_sums<kRows, kPart>(ends, now, out + channels, out_row, count);
}

/// The same for pixels two columns and rows apart.
template <int kRows, bool kPart, bool kInside>
HWY_NOINLINE void far_strip(const GroupedJob& job, const Strip& strip, const Columns& columns) {
  Taps w;
  load_taps<kPart>(job, columns, w);
  const SumEnds ends = ends_of<kPart>(job, columns);
  const int64_t channels = job.channels(), count = columns.count, width = job.out[1];
  const int64_t row = job.in[1] * channels, out_row = width * channels;
  const float* in = strip.in + columns.first - job.padding[1] * channels;
  float* out = strip.out + columns.first;
  const int64_t begin = strip.begin, end = strip.end;
  const auto each_row = [&](auto&& f) {
    BERTH_UNROLL_FULL
    for (int iy = 0; iy < 2 * kRows + 1; ++iy) {
      if (kInside || (iy >= begin && iy < end)) f(iy, load_channels<kPart>(in + iy * row, count));
    }
    in += channels;
  };
  FloatVector now[kRows], last[kRows];
  begin_sums(ends, now);
  if (job.padding[1] == 0) {
    each_row([&](int iy, FloatVector seen) { add_tap<2>(w, 0, iy, seen, now); });
  } else {
    in += channels;
  }
  for (int64_t x = 1; x < width; ++x) {
    each_row([&](int iy, FloatVector seen) { add_tap<2>(w, 1, iy, seen, now); });
    move_sums(now, last);
    begin_sums(ends, now);
    each_row([&](int iy, FloatVector seen) {
      add_tap<2>(w, 2, iy, seen, last);
      add_tap<2>(w, 0, iy, seen, now);
    });
    end_sums<kRows, kPart>(ends, last, out, out_row, count);
    out += channels;
  }
  each_row([&](int iy, FloatVector seen) { add_tap<2>(w, 1, iy, seen, now); });
  const bool inside = 2 * width - job.padding[1] < job.in[1];
  if (inside) each_row([&](int iy, FloatVector seen) { add_tap<2>(w, 2, iy, seen, now); });
  end_sums<kRows, kPart>(ends, now, out, out_row, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#endif
