// Convolutions of groups of few channels: a register of channels of the result at a time.
#include <algorithm>
#include <utility>

#include "kernels/cpu/grouped_conv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/grouped_conv_run.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/depthwise_strip-inl.h"
#include "kernels/cpu/grouped_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

// Sums and the weights of a row of taps are in registers together.
constexpr int kPixels = 7;

// A row of the result: the taps [begin, end) that fall inside, the input row where the first of all lies, at the
// register's first channel.
struct Row {
  const float* in;
  int64_t begin, end;
  float* out;
};

// Pixels [x, x + kCount), any window.
template <int kCount, bool kPart>
HWY_NOINLINE void any_tile(const GroupedJob& job, const Row& row, const Columns& columns, const SumEnds& ends,
                           int64_t x) {
  FloatVector sum[kCount];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i) sum[i] = ends.bias;
  const int64_t channels = job.channels();
  const int64_t first = x * job.stride[1] - job.padding[1];
  for (int64_t ky = row.begin; ky < row.end; ++ky) {
    const float* in = row.in + (ky * job.dilation[0] * job.in[1] + first) * channels;
    const float* weight = job.weight + ky * job.kernel[1] * channels + columns.first;
    for (int64_t kx = 0; kx < job.kernel[1]; ++kx, weight += channels) {
      const FloatVector w = load_channels<kPart>(weight, columns.count);
      BERTH_UNROLL_FULL
      for (int i = 0; i < kCount; ++i) {
        const int64_t column = kx * job.dilation[1] + i * job.stride[1];
        if (static_cast<uint64_t>(first + column) >= static_cast<uint64_t>(job.in[1])) continue;
        sum[i] = hn::MulAdd(load_channels<kPart>(in + column * channels, columns.count), w, sum[i]);
      }
    }
  }
  float* out = row.out + x * channels;
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i) end_sum<kPart>(ends, sum[i], out + i * channels, columns.count);
}

// Pixels [x, x + kCount) whose windows are kSize wide without gaps, and kStride apart.
template <int kSize, int kStride, int kCount, bool kPart>
HWY_NOINLINE void sliding_tile(const GroupedJob& job, const Row& row, const Columns& columns, const SumEnds& ends,
                               int64_t x) {
  FloatVector sum[kCount];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i) sum[i] = ends.bias;
  const int64_t channels = job.channels();
  const int64_t first = x * kStride - job.padding[1];
  const auto width = static_cast<uint64_t>(job.in[1]);
  for (int64_t ky = row.begin; ky < row.end; ++ky) {
    const float* in = row.in + (ky * job.dilation[0] * job.in[1] + first) * channels;
    const float* weight = job.weight + ky * kSize * channels + columns.first;
    FloatVector w[kSize];
    BERTH_UNROLL_FULL
    for (int kx = 0; kx < kSize; ++kx, weight += channels) w[kx] = load_channels<kPart>(weight, columns.count);
    BERTH_UNROLL_WHOLE
    for (int c = 0; c < (kCount - 1) * kStride + kSize; ++c, in += channels) {
      if (static_cast<uint64_t>(first + c) >= width) continue;
      const FloatVector seen = load_channels<kPart>(in, columns.count);
      BERTH_UNROLL_FULL
      for (int i = 0; i < kCount; ++i) {
        const int kx = c - i * kStride;
        if (kx >= 0 && kx < kSize) sum[i] = hn::MulAdd(seen, w[kx], sum[i]);
      }
    }
  }
  float* out = row.out + x * channels;
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i, out += channels) end_sum<kPart>(ends, sum[i], out, columns.count);
}

// The same for windows of any width, whose taps are read three at a time: what a column holds is loaded once for three.
template <int kCount, bool kPart>
HWY_NOINLINE void wide_tile(const GroupedJob& job, const Row& row, const Columns& columns, const SumEnds& ends,
                            int64_t x) {
  FloatVector sum[kCount];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i) sum[i] = ends.bias;
  const int64_t channels = job.channels(), taps = job.kernel[1];
  const auto width = static_cast<uint64_t>(job.in[1]);
  for (int64_t ky = row.begin; ky < row.end; ++ky) {
    int64_t column = x - job.padding[1];
    const float* in = row.in + (ky * job.dilation[0] * job.in[1] + column) * channels;
    const float* weight = job.weight + ky * taps * channels + columns.first;
    int64_t kx = 0;
    for (; kx + 3 <= taps; kx += 3, column += 3, in += 3 * channels, weight += 3 * channels) {
      if (column + kCount + 2 <= 0 || column >= job.in[1]) continue;
      const FloatVector w[3] = {load_channels<kPart>(weight, columns.count),
                                load_channels<kPart>(weight + channels, columns.count),
                                load_channels<kPart>(weight + 2 * channels, columns.count)};
      const float* from = in;
      BERTH_UNROLL_WHOLE
      for (int c = 0; c < kCount + 2; ++c, from += channels) {
        if (static_cast<uint64_t>(column + c) >= width) continue;
        const FloatVector seen = load_channels<kPart>(from, columns.count);
        BERTH_UNROLL_FULL
        for (int i = 0; i < kCount; ++i) {
          const int t = c - i;
          if (t >= 0 && t < 3) sum[i] = hn::MulAdd(seen, w[t], sum[i]);
        }
      }
    }
    for (; kx < taps; ++kx, ++column, in += channels, weight += channels) {
      const FloatVector w = load_channels<kPart>(weight, columns.count);
      const float* from = in;
      BERTH_UNROLL_FULL
      for (int i = 0; i < kCount; ++i, from += channels) {
        if (static_cast<uint64_t>(column + i) >= width) continue;
        sum[i] = hn::MulAdd(load_channels<kPart>(from, columns.count), w, sum[i]);
      }
    }
  }
  float* out = row.out + x * channels;
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i, out += channels) end_sum<kPart>(ends, sum[i], out, columns.count);
}

using Tile = void (*)(const GroupedJob&, const Row&, const Columns&, const SumEnds&, int64_t x);

// Of 1 to kPixels pixels.
struct Tiles {
  Tile of[kPixels];
};

template <bool kPart>
constexpr Tiles kAny = {{any_tile<1, kPart>, any_tile<2, kPart>, any_tile<3, kPart>, any_tile<4, kPart>,
                         any_tile<5, kPart>, any_tile<6, kPart>, any_tile<7, kPart>}};
template <int kSize, int kStride, bool kPart>
constexpr Tiles kSliding = {{sliding_tile<kSize, kStride, 1, kPart>, sliding_tile<kSize, kStride, 2, kPart>,
                             sliding_tile<kSize, kStride, 3, kPart>, sliding_tile<kSize, kStride, 4, kPart>,
                             sliding_tile<kSize, kStride, 5, kPart>, sliding_tile<kSize, kStride, 6, kPart>,
                             sliding_tile<kSize, kStride, 7, kPart>}};

template <bool kPart>
constexpr Tiles kWide = {{wide_tile<1, kPart>, wide_tile<2, kPart>, wide_tile<3, kPart>, wide_tile<4, kPart>,
                          wide_tile<5, kPart>, wide_tile<6, kPart>, wide_tile<7, kPart>}};

// Each is a kilobyte of code and more for each instruction set: those before AVX2 do without.
template <bool kPart>
const Tiles& tiles_for(const GroupedJob& job) {
  if constexpr (!kManyForms) return kAny<kPart>;
  if (job.dilation[1] != 1 || job.stride[1] > 2) return kAny<kPart>;
  switch (job.kernel[1]) {
    case 5: return job.stride[1] == 1 ? kSliding<5, 1, kPart> : kSliding<5, 2, kPart>;
    case 7: return job.stride[1] == 1 ? kSliding<7, 1, kPart> : kAny<kPart>;
    default: return job.kernel[1] > 7 && job.stride[1] == 1 ? kWide<kPart> : kAny<kPart>;
  }
}

// A strip row by row, in tiles of about the same width.
template <bool kPart>
void run_tiles(const GroupedJob& job, const Strip& strip, const Columns& columns) {
  const Tiles& tiles = tiles_for<kPart>(job);
  const SumEnds ends = ends_of<kPart>(job, columns);
  const int64_t count = (job.out[1] + kPixels - 1) / kPixels;
  const int64_t narrow = job.out[1] / count;
  const int64_t wider = job.out[1] % count;
  const int64_t step = job.dilation[0];
  const int64_t row_step = job.in[1] * job.channels();
  for (int64_t r = 0; r < strip.rows; ++r) {
    const int64_t y = r * job.stride[0];
    Row row;
    row.in = strip.in + y * row_step + columns.first;
    row.out = strip.out + r * job.out[1] * job.channels() + columns.first;
    row.begin = std::max<int64_t>(0, (strip.begin - y + step - 1) / step);
    row.end = y >= strip.end ? 0 : std::min(job.kernel[0], (strip.end - y + step - 1) / step);
    int64_t x = 0;
    for (int64_t t = 0; t < count; ++t) {
      const int64_t pixels = narrow + (t < wider ? 1 : 0);
      tiles.of[pixels - 1](job, row, columns, ends, x);
      x += pixels;
    }
  }
}

template <int kRows, bool kPart>
void run_strip(const GroupedJob& job, const Strip& strip, const Columns& columns) {
  const bool near = job.stride[0] == 1;
  // Lower strips are those of images of a few rows, which see what is outside; few registers are not whole.
  if constexpr (kManyForms && kRows > 2 && (!kPart || kAlwaysMasked)) {
    const bool inside = strip.begin <= 0 && strip.end >= (kRows - 1) * job.stride[0] + 3;
    if (near && inside) return near_strip<kRows, kPart, true>(job, strip, columns);
    if (inside) return far_strip<kRows, kPart, true>(job, strip, columns);
  }
  near ? near_strip<kRows, kPart, false>(job, strip, columns) : far_strip<kRows, kPart, false>(job, strip, columns);
}

template <bool kPart>
void run_columns(const GroupedJob& job, const Strip& strip, const Columns& columns) {
  // Without masks, strips are for whole registers, and for more than one lane.
  if constexpr (kManyForms || (!kPart && kLanes > 1)) {
    constexpr bool kMasked = kPart || kAlwaysMasked;
    if (takes_strips(job)) {
      switch (strip.rows) {
        case 1: return run_strip<1, kMasked>(job, strip, columns);
        case 2: return run_strip<2, kMasked>(job, strip, columns);
        case 3: return run_strip<3, kMasked>(job, strip, columns);
        default: return run_strip<4, kMasked>(job, strip, columns);
      }
    }
  }
  run_tiles<kPart>(job, strip, columns);
}

void run_channels(const GroupedJob& job, const Strip& strip, const Columns& columns) {
  if constexpr (kLanes > 1) {
    if (columns.count < kLanes) return run_columns<true>(job, strip, columns);
  }
  run_columns<false>(job, strip, columns);
}

GroupedPanel panel_of(const GroupedJob& job, const Columns& columns) {
  GroupedPanel panel;
  panel.columns = columns;
  panel.weight = job.weight + columns.first / job.panel_columns * job.weight_panel;
  panel.in_first = columns.first / job.columns * job.depth;
  const int64_t last = (columns.first + columns.count - 1) / job.columns;
  panel.in_count = (last + 1) * job.depth - panel.in_first;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    const int64_t channel = std::min(lane, columns.count - 1);
    panel.places[lane] = static_cast<int32_t>((columns.first + channel) / job.columns * job.depth - panel.in_first);
  }
  return panel;
}

Strip strip_of(const GroupedJob& job, int64_t index) {
  const int64_t image = index / job.strips();
  const int64_t first = job.strip_first(index % job.strips());
  const int64_t y = first * job.stride[0] - job.padding[0];
  Strip strip;
  strip.in = job.input + (image * job.in[0] + y) * job.in[1] * job.in_channels();
  strip.begin = -y;
  strip.end = job.in[0] - y;
  strip.out = job.out_data + (image * job.out[0] + first) * job.out[1] * job.channels();
  strip.rows = job.strip_first(index % job.strips() + 1) - first;
  return strip;
}

void run(const GroupedJob& job, int64_t begin, int64_t end, int64_t first, int64_t count) {
  const int64_t stop = first + count, step = job.panel_columns;
  if (job.is_depthwise()) {
    for (int64_t index = begin; index < end; ++index) {
      const Strip strip = strip_of(job, index);
      for (int64_t c = first; c < stop; c += step) run_channels(job, strip, {c, std::min(step, stop - c)});
    }
  } else {
    // The weights of a panel stay in the nearest cache over all strips.
    for (int64_t c = first; c < stop; c += step) {
      const GroupedPanel panel = panel_of(job, {c, std::min(step, stop - c)});
      for (int64_t index = begin; index < end; ++index) run_copied(job, strip_of(job, index), panel);
    }
  }
  if (!activates_later(job.activation.kind)) return;
  for (int64_t index = begin; index < end; ++index) {
    const Strip strip = strip_of(job, index);
    const int64_t pixels = strip.rows * job.out[1];
    if (count == job.channels()) {
      activate_stored(job.activation, strip.out, pixels * count);
      continue;
    }
    for (int64_t i = 0; i < pixels; ++i) {
      activate_stored(job.activation, strip.out + i * job.channels() + first, count);
    }
  }
}

bool takes(const GroupedJob& job) { return job.is_depthwise() || takes_copies(job); }

GroupedFunctions functions() { return {kLanes, takes, run}; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(functions);

GroupedFunctions grouped_functions() { return HWY_DYNAMIC_DISPATCH(functions)(); }

}  // namespace berth::cpu
#endif
