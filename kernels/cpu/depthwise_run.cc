// Depthwise convolutions: each channel by itself, a register of channels at a time.
#include <algorithm>

#include "kernels/cpu/depthwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/depthwise_run.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/depthwise_strip-inl.h"

// For loops of more turns than those of tiles.
#if defined(__clang__)
#define BERTH_UNROLL_WHOLE _Pragma("clang loop unroll(full)")
#else
#define BERTH_UNROLL_WHOLE _Pragma("GCC unroll 32")
#endif

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
HWY_NOINLINE void any_tile(const DepthwiseJob& job, const Row& row, const Columns& columns, const SumEnds& ends,
                           int64_t x) {
  FloatVector sum[kCount];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i) sum[i] = ends.bias;
  const int64_t channels = job.channels;
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
HWY_NOINLINE void sliding_tile(const DepthwiseJob& job, const Row& row, const Columns& columns, const SumEnds& ends,
                               int64_t x) {
  FloatVector sum[kCount];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i) sum[i] = ends.bias;
  const int64_t channels = job.channels;
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

using Tile = void (*)(const DepthwiseJob&, const Row&, const Columns&, const SumEnds&, int64_t x);

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

// Each is a kilobyte of code and more for each instruction set: those before AVX2 do without.
constexpr bool kManyForms = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_SSE4;

template <bool kPart>
const Tiles& tiles_for(const DepthwiseJob& job) {
  if constexpr (!kManyForms) return kAny<kPart>;
  if (job.dilation[1] != 1 || job.stride[1] > 2) return kAny<kPart>;
  switch (job.kernel[1]) {
    case 5: return job.stride[1] == 1 ? kSliding<5, 1, kPart> : kSliding<5, 2, kPart>;
    case 7: return job.stride[1] == 1 ? kSliding<7, 1, kPart> : kAny<kPart>;
    default: return kAny<kPart>;
  }
}

// A strip row by row, in tiles of about the same width.
template <bool kPart>
void run_tiles(const DepthwiseJob& job, const Strip& strip, const Columns& columns) {
  const Tiles& tiles = tiles_for<kPart>(job);
  const SumEnds ends = ends_of<kPart>(job, columns);
  const int64_t count = (job.out[1] + kPixels - 1) / kPixels;
  const int64_t narrow = job.out[1] / count;
  const int64_t wider = job.out[1] % count;
  const int64_t step = job.dilation[0];
  const int64_t row_step = job.in[1] * job.channels;
  for (int64_t r = 0; r < strip.rows; ++r) {
    const int64_t y = r * job.stride[0];
    Row row;
    row.in = strip.in + y * row_step + columns.first;
    row.out = strip.out + r * job.out[1] * job.channels + columns.first;
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
void run_strip(const DepthwiseJob& job, const Strip& strip, const Columns& columns) {
  const bool near = job.stride[0] == 1;
  const bool inside = kManyForms && strip.begin <= 0 && strip.end >= (kRows - 1) * job.stride[0] + 3;
  if (near && inside) return near_strip<kRows, kPart, true>(job, strip, columns);
  if (near) return near_strip<kRows, kPart, false>(job, strip, columns);
  if (inside) return far_strip<kRows, kPart, true>(job, strip, columns);
  far_strip<kRows, kPart, false>(job, strip, columns);
}

template <bool kPart>
void run_columns(const DepthwiseJob& job, const Strip& strip, const Columns& columns) {
  if (!takes_strips(job)) return run_tiles<kPart>(job, strip, columns);
  switch (strip.rows) {
    case 1: return run_strip<1, kPart>(job, strip, columns);
    case 2: return run_strip<2, kPart>(job, strip, columns);
    case 3: return run_strip<3, kPart>(job, strip, columns);
    default: return run_strip<4, kPart>(job, strip, columns);
  }
}

Strip strip_of(const DepthwiseJob& job, int64_t index) {
  const int64_t image = index / job.strips();
  const int64_t first = job.strip_first(index % job.strips());
  const int64_t y = first * job.stride[0] - job.padding[0];
  Strip strip;
  strip.in = job.input + (image * job.in[0] + y) * job.in[1] * job.channels;
  strip.begin = -y;
  strip.end = job.in[0] - y;
  strip.out = job.out_data + (image * job.out[0] + first) * job.out[1] * job.channels;
  strip.rows = job.strip_first(index % job.strips() + 1) - first;
  return strip;
}

void run(const DepthwiseJob& job, int64_t begin, int64_t end, int64_t first, int64_t count) {
  for (int64_t index = begin; index < end; ++index) {
    const Strip strip = strip_of(job, index);
    for (int64_t done = 0; done < count; done += kLanes) {
      const Columns columns = {first + done, std::min(kLanes, count - done)};
      if constexpr (kLanes > 1) {
        if (columns.count < kLanes) {
          run_columns<true>(job, strip, columns);
          continue;
        }
      }
      run_columns<false>(job, strip, columns);
    }
  }
  if (!activates_later(job.activation.kind)) return;
  for (int64_t index = begin; index < end; ++index) {
    const Strip strip = strip_of(job, index);
    const int64_t pixels = strip.rows * job.out[1];
    if (count == job.channels) {
      portable::activate(job.activation, strip.out, pixels * count);
      continue;
    }
    for (int64_t i = 0; i < pixels; ++i) {
      portable::activate(job.activation, strip.out + i * job.channels + first, count);
    }
  }
}

DepthwiseFunctions functions() { return {kLanes, run}; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(functions);

DepthwiseFunctions depthwise_functions() { return HWY_DYNAMIC_DISPATCH(functions)(); }

}  // namespace berth::cpu
#endif
