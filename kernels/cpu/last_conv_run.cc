// The tiles of convolutions to a few channels, once for each instruction set.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/cpu/interleave.h"
#include "kernels/cpu/last_conv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/last_conv_run.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/depthwise_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

// Half a register of channels is where registers of pixels stop to be faster.
constexpr int64_t kMostColumns = kLanes / 2;
// Sums of this many columns and fewer have room for twice the pixels.
constexpr int64_t kFewColumns = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kMany[] = {3, 2, 1, 0};
constexpr int kFew[] = {6, 4, 2, 0};

const int* registers_for(int64_t columns) { return columns <= kFewColumns ? kFew : kMany; }

// The columns of the input that a strip sees, counted from the first that its first pixel sees.
struct Seen {
  int64_t first;       // the column of the input
  int64_t begin, end;  // those that are inside
};

Seen seen_by(const LastConvJob& job, int64_t strip) {
  const int64_t first = strip * job.width * job.stride[1] - job.padding[1];
  const int64_t span = job.stride[1] * job.plane();
  const int64_t begin = std::clamp<int64_t>(-first, 0, span);
  return {first, begin, std::clamp<int64_t>(job.in[1] - first, begin, span)};
}

// Four channels of four pixels, `step` floats apart, to four planes.
HWY_INLINE void copy_square(const float* from, int64_t step, float* to, int64_t plane) {
  const hn::FixedTag<float, 4> d;
  const hn::RepartitionToWide<decltype(d)> dw;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + step);
  const auto c = hn::LoadU(d, from + 2 * step), e = hn::LoadU(d, from + 3 * step);
  const auto ab = hn::BitCast(dw, hn::InterleaveLower(d, a, b)), ce = hn::BitCast(dw, hn::InterleaveLower(d, c, e));
  const auto AB = hn::BitCast(dw, hn::InterleaveUpper(d, a, b)), CE = hn::BitCast(dw, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, ab, ce)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, ab, ce)), d, to + plane);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, AB, CE)), d, to + 2 * plane);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, AB, CE)), d, to + 3 * plane);
}

// Each `step`-th float of `from`, pixels [begin, end), to the planes of the channels, `channel` floats apart.
void copy_pixels(const float* from, int64_t step, int64_t depth, int64_t begin, int64_t end, float* to,
                 int64_t channel) {
  int64_t c = 0;
  for (; c + 4 <= depth; c += 4) {
    float* plane = to + c * channel;
    int64_t i = begin;
    for (; i + 4 <= end; i += 4) copy_square(from + i * step + c, step, plane + i, channel);
    for (; i < end; ++i) {
      for (int64_t k = 0; k < 4; ++k) plane[k * channel + i] = from[i * step + c + k];
    }
  }
  for (; c < depth; ++c) {
    float* plane = to + c * channel;
    for (int64_t i = begin; i < end; ++i) plane[i] = from[i * step + c];
  }
}

// Row `y` of the image as the tiles read it: for each channel, planes of each stride-th column. Zeros where it is
// outside.
void copy_row(const LastConvJob& job, const Seen& seen, const float* image, int64_t y, float* to) {
  if (!inside(y, job.in[0])) return void(std::fill_n(to, job.copied_row(), 0.0f));
  const float* row = image + y * job.in[1] * job.depth;
  const int64_t stride = job.stride[1], plane = job.plane();
  for (int64_t phase = 0; phase < stride; ++phase) {
    const int64_t begin = (std::max<int64_t>(0, seen.begin - phase) + stride - 1) / stride;
    const int64_t end = std::max(begin, (std::max<int64_t>(0, seen.end - phase) + stride - 1) / stride);
    float* planes = to + phase * plane;
    if (begin > 0 || end < plane) {
      for (int64_t c = 0; c < job.depth; ++c) {
        std::fill_n(planes + c * stride * plane, begin, 0.0f);
        std::fill(planes + c * stride * plane + end, planes + c * stride * plane + plane, 0.0f);
      }
    }
    const float* from = row + (seen.first + phase) * job.depth;
    copy_pixels(from, stride * job.depth, job.depth, begin, end, planes, stride * plane);
  }
}

// One row of a strip, which sees the image from its row `first` on, counted with what is above it. Row r of the image
// is the (r % window_rows())-th of those that are `copied`.
template <int kColumns, int kRegisters>
HWY_NOINLINE void last_conv_tile(const LastConvJob& job, const float* copied, int64_t first, float* sums) {
  const FloatTag d;
  FloatVector sum[kColumns][kRegisters];
  BERTH_UNROLL_FULL
  for (int c = 0; c < kColumns; ++c) {
    BERTH_UNROLL_FULL
    for (int r = 0; r < kRegisters; ++r) sum[c][r] = job.bias == nullptr ? hn::Zero(d) : hn::Set(d, job.bias[c]);
  }
  const int64_t plane = job.plane(), stride = job.stride[1], channel = stride * plane;
  const int64_t places = job.dilation[1] / stride, phases = job.dilation[1] % stride;  // from one tap to the next
  const float* weight = job.weight;
  for (int64_t ky = 0; ky < job.kernel[0]; ++ky) {
    const float* row = copied + (first + ky * job.dilation[0]) % job.window_rows() * job.copied_row();
    for (int64_t k = 0; k < job.depth; ++k, row += channel) {
      int64_t phase = 0, place = 0;  // of the tap: its column is place * stride + phase
      for (int64_t kx = 0; kx < job.kernel[1]; ++kx, weight += kColumns) {
        const float* a = row + phase * plane + place;
        FloatVector x[kRegisters];
        BERTH_UNROLL_FULL
        for (int r = 0; r < kRegisters; ++r) x[r] = hn::LoadU(d, a + r * kLanes);
        BERTH_UNROLL_FULL
        for (int c = 0; c < kColumns; ++c) {
          const FloatVector w = hn::Set(d, weight[c]);
          BERTH_UNROLL_FULL
          for (int r = 0; r < kRegisters; ++r) sum[c][r] = hn::MulAdd(x[r], w, sum[c][r]);
        }
        place += places;
        phase += phases;
        if (phase >= stride) {
          phase -= stride;
          ++place;
        }
      }
    }
  }
  SumEnds ends = ends_of<true>(job, {0, kColumns});
  // Residuals lie as pixels do.
  if (job.residual) ends = {ends.bias, hn::Set(d, -kInfinity), hn::Set(d, kInfinity), false, false};
  BERTH_UNROLL_FULL
  for (int c = 0; c < kColumns; ++c) {
    BERTH_UNROLL_FULL
    for (int r = 0; r < kRegisters; ++r) end_sum<false>(ends, sum[c][r], sums + (c * kRegisters + r) * kLanes, kLanes);
  }
}

using LastConvTile = void (*)(const LastConvJob&, const float* copied, int64_t first, float* sums);

template <int kColumns>
LastConvTile tile_of(int64_t registers) {
  if constexpr (kColumns <= kFewColumns) {
    switch (registers) {
      case 6: return last_conv_tile<kColumns, 6>;
      case 4: return last_conv_tile<kColumns, 4>;
      default: return last_conv_tile<kColumns, 2>;
    }
  } else {
    switch (registers) {
      case 3: return last_conv_tile<kColumns, 3>;
      case 2: return last_conv_tile<kColumns, 2>;
      default: return last_conv_tile<kColumns, 1>;
    }
  }
}

LastConvTile tile_for(const LastConvJob& job) {
  switch (job.columns) {
    case 1: return tile_of<1>(job.registers);
    case 2: return tile_of<2>(job.registers);
    case 3: return tile_of<3>(job.registers);
#if HWY_TARGET == HWY_AVX3
    case 5: return tile_of<5>(job.registers);
    case 6: return tile_of<6>(job.registers);
    case 7: return tile_of<7>(job.registers);
    case 8: return tile_of<8>(job.registers);
#endif
    default: return tile_of<4>(job.registers);
  }
}

// `count` pixels of the sums of each column, to where pixels are.
void gather_pixels(const LastConvJob& job, const float* sums, int64_t count, float* out) {
  if (job.columns == 1) {
    std::memcpy(out, sums, count * sizeof(float));
  } else if (job.columns <= kMaxStreams) {
    interleave(sums, job.width, static_cast<int>(job.columns), count, out);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < job.columns; ++c) *out++ = sums[c * job.width + i];
    }
  }
}

void store_pixels(const LastConvJob& job, float* sums, int64_t count, float* out) {
  if (!job.residual) {
    gather_pixels(job, sums, count, out);
    if (activates_later(job.activation.kind)) activate_stored(job.activation, out, count * job.columns);
    return;
  }
  float* pixels = sums + job.columns * job.width;
  gather_pixels(job, sums, count, pixels);
  for (int64_t i = 0; i < count * job.columns; ++i) out[i] += pixels[i];
  activate_stored(job.activation, out, count * job.columns);
}

void run(const LastConvJob& job, const LastConvBand& band, float* scratch) {
  const LastConvTile tile = tile_for(job);
  const Seen seen = seen_by(job, band.strip);
  const float* image = job.input + band.image * job.in[0] * job.in[1] * job.depth;
  float* sums = scratch + job.window_rows() * job.copied_row();
  const int64_t x = band.strip * job.width;
  const int64_t count = std::min(job.width, job.out[1] - x);
  int64_t copied = 0;  // rows of the image below this one, counted with what is above it
  for (int64_t y = band.begin; y < band.end; ++y) {
    const int64_t first = y * job.stride[0], end = first + job.window_rows();
    for (copied = std::max(copied, first); copied < end; ++copied) {
      copy_row(job, seen, image, copied - job.padding[0], scratch + copied % job.window_rows() * job.copied_row());
    }
    tile(job, scratch, first, sums);
    float* out = job.out_data + ((band.image * job.out[0] + y) * job.out[1] + x) * job.columns;
    store_pixels(job, sums, count, out);
  }
}

LastConvFunctions functions() { return {kLanes, kMostColumns, registers_for, run}; }

#else

// Narrower registers have no room for what is won, and each tile is code.
LastConvFunctions functions() { return {}; }

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(functions);

LastConvFunctions last_conv_functions() { return HWY_DYNAMIC_DISPATCH(functions)(); }

}  // namespace berth::cpu
#endif
