// Depthwise convolutions: each channel by itself, a register of channels at a time, a few places side by side so that a
// tap's weights are read once for all of them.
#include <algorithm>

#include "kernels/cpu/depthwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/depthwise_run.cc"
#include <hwy/foreach_target.h>

#include "kernels/cpu/tiles_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int kPlaces = 6;

// A row of the result: the taps [ky_begin, ky_end) that fall inside, and the input row of the first.
struct Row {
  const float* in;
  int64_t ky_begin, ky_end;
  float* out;
};

Row row_of(const DepthwiseJob& job, int64_t index) {
  const int64_t y = index % job.out[0] * job.stride[0] - job.padding[0];
  const int64_t n = index / job.out[0];
  const int64_t step = job.dilation[0];
  Row row;
  row.ky_begin = y >= 0 ? 0 : (-y + step - 1) / step;
  row.ky_end = y >= job.in[0] ? 0 : std::min(job.kernel[0], (job.in[0] - y + step - 1) / step);
  row.in = job.input + (n * job.in[0] + y) * job.in[1] * job.channels;
  row.out = job.out_data + index * job.out[1] * job.channels;
  return row;
}

// The last channels may not fill a register: then kPart.
template <bool kPart>
HWY_INLINE FloatVector load(const Columns& columns, const float* from) {
  if constexpr (kPart) return load_part(from, columns.count);
  return hn::LoadU(FloatTag(), from);
}

// Places [x, x + kCount) of a row. Where kInside, no tap of theirs falls outside to the left or right.
template <int kCount, int kVectors, bool kPart, bool kInside>
HWY_INLINE void places(const DepthwiseJob& job, const Row& row, int64_t x, const Columns& columns) {
  FloatVector sum[kCount][kVectors];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(FloatTag());
  }
  const int64_t channels = job.channels;
  const int64_t place_step = job.stride[1] * channels;
  const int64_t first = x * job.stride[1] - job.padding[1];
  for (int64_t ky = row.ky_begin; ky < row.ky_end; ++ky) {
    const float* in = row.in + (ky * job.dilation[0] * job.in[1] + first) * channels + columns.first;
    const float* weight = job.weight + ky * job.kernel[1] * channels + columns.first;
    for (int64_t kx = 0; kx < job.kernel[1]; ++kx, weight += channels) {
      FloatVector w[kVectors];
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) w[v] = load<kPart>(columns, weight + v * kLanes);
      const int64_t tap = kx * job.dilation[1];
      BERTH_UNROLL_FULL
      for (int i = 0; i < kCount; ++i) {
        const float* seen = in + tap * channels + i * place_step;
        if (!kInside && static_cast<uint64_t>(first + i * job.stride[1] + tap) >= static_cast<uint64_t>(job.in[1])) {
          seen = job.zeros;
        }
        BERTH_UNROLL_FULL
        for (int v = 0; v < kVectors; ++v) {
          sum[i][v] = hn::MulAdd(load<kPart>(columns, seen + v * kLanes), w[v], sum[i][v]);
        }
      }
    }
  }
  float* out = row.out + x * channels;
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i, out += channels) finish_row<kVectors>(job, columns, sum[i], out);
}

template <int kCount, int kVectors, bool kPart>
HWY_NOINLINE void some_places(const DepthwiseJob& job, const Row& row, int64_t x, const Columns& columns) {
  const int64_t first = x * job.stride[1] - job.padding[1];
  const int64_t last = first + (kCount - 1) * job.stride[1] + (job.kernel[1] - 1) * job.dilation[1];
  if (first >= 0 && last < job.in[1]) return places<kCount, kVectors, kPart, true>(job, row, x, columns);
  places<kCount, kVectors, kPart, false>(job, row, x, columns);
}

template <int kVectors, bool kPart>
void run_columns(const DepthwiseJob& job, const Row& row, const Columns& columns) {
  // Tiles of about the same width.
  const int64_t width = job.out[1];
  const int64_t tiles = (width + kPlaces - 1) / kPlaces;
  int64_t x = 0;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t count = width / tiles + (t < width % tiles ? 1 : 0);
    switch (count) {
      case 1: some_places<1, kVectors, kPart>(job, row, x, columns); break;
      case 2: some_places<2, kVectors, kPart>(job, row, x, columns); break;
      case 3: some_places<3, kVectors, kPart>(job, row, x, columns); break;
      case 4: some_places<4, kVectors, kPart>(job, row, x, columns); break;
      case 5: some_places<5, kVectors, kPart>(job, row, x, columns); break;
      default: some_places<6, kVectors, kPart>(job, row, x, columns); break;
    }
    x += count;
  }
}

void run_depthwise(const DepthwiseJob& job, int64_t begin, int64_t end) {
  for (int64_t index = begin; index < end; ++index) {
    const Row row = row_of(job, index);
    int64_t channel = 0;
    for (; channel + 2 * kLanes <= job.channels; channel += 2 * kLanes) {
      run_columns<2, false>(job, row, {channel, 2 * kLanes});
    }
    for (; channel + kLanes <= job.channels; channel += kLanes) run_columns<1, false>(job, row, {channel, kLanes});
    if (channel < job.channels) run_columns<1, true>(job, row, {channel, job.channels - channel});
  }
}

DepthwiseFunctions functions() { return {kLanes, run_depthwise}; }

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
