// Depthwise convolutions: each channel by itself, a register of channels at a time, a few places side by side so that a
// tap's weights are read once for all of them.
#include <algorithm>

#include "kernels/cpu/tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/tiles_depthwise.cc"
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

Row row_of(const TileJob& job, int64_t index) {
  const int64_t y = index % job.out[0] * job.stride[0] - job.padding[0];
  const int64_t n = index / job.out[0];
  const int64_t step = job.dilation[0];
  Row row;
  row.ky_begin = y >= 0 ? 0 : (-y + step - 1) / step;
  row.ky_end = y >= job.in[0] ? 0 : std::min(job.kernel[0], (job.in[0] - y + step - 1) / step);
  row.in = job.input + (n * job.in[0] + y) * job.in[1] * job.groups;
  row.out = job.out_data + index * job.out[1] * job.groups;
  return row;
}

// The last channels may not fill a register: then kPart.
template <bool kPart>
HWY_INLINE FloatVector load(const Columns& columns, const float* from) {
  if constexpr (kPart) return load_part(from, columns.count);
  return hn::LoadU(FloatTag(), from);
}

// Places [x, x + kCount) of a row, all taps [kx_begin, kx_end) of which fall inside.
template <int kCount, int kVectors, bool kPart>
HWY_INLINE void places(const TileJob& job, const Row& row, int64_t x, int64_t kx_begin, int64_t kx_end,
                       const Columns& columns) {
  const FloatTag d;
  FloatVector sum[kCount][kVectors];
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i) {
    BERTH_UNROLL_FULL
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
  }
  const int64_t channels = job.groups;
  const int64_t place_step = job.stride[1] * channels;
  const int64_t left = (x * job.stride[1] - job.padding[1]) * channels + columns.first;
  for (int64_t ky = row.ky_begin; ky < row.ky_end; ++ky) {
    const float* in = row.in + ky * job.dilation[0] * job.in[1] * channels + left;
    const float* weight = job.weight + ky * job.kernel[1] * channels + columns.first;
    for (int64_t kx = kx_begin; kx < kx_end; ++kx) {
      const float* seen = in + kx * job.dilation[1] * channels;
      BERTH_UNROLL_FULL
      for (int v = 0; v < kVectors; ++v) {
        const FloatVector w = load<kPart>(columns, weight + kx * channels + v * kLanes);
        BERTH_UNROLL_FULL
        for (int i = 0; i < kCount; ++i) {
          sum[i][v] = hn::MulAdd(load<kPart>(columns, seen + i * place_step + v * kLanes), w, sum[i][v]);
        }
      }
    }
  }
  BERTH_UNROLL_FULL
  for (int i = 0; i < kCount; ++i) finish_row<kVectors>(job, columns, sum[i], row.out + (x + i) * channels);
}

// A place some taps of which may fall outside.
template <int kVectors, bool kPart>
void border(const TileJob& job, const Row& row, int64_t x, const Columns& columns) {
  const int64_t first = x * job.stride[1] - job.padding[1];
  const int64_t step = job.dilation[1];
  const int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
  const int64_t end = first >= job.in[1] ? 0 : std::min(job.kernel[1], (job.in[1] - first + step - 1) / step);
  places<1, kVectors, kPart>(job, row, x, begin, std::max(begin, end), columns);
}

template <int kVectors, bool kPart>
void run_columns(const TileJob& job, const Row& row, const Columns& columns) {
  const int64_t width = job.out[1];
  const int64_t reach = (job.kernel[1] - 1) * job.dilation[1];
  const int64_t inner = std::min(width, (job.padding[1] + job.stride[1] - 1) / job.stride[1]);
  const int64_t room = job.in[1] - 1 - reach + job.padding[1];
  const int64_t end = room < 0 ? 0 : std::min(width, room / job.stride[1] + 1);
  int64_t x = 0;
  for (; x < inner; ++x) border<kVectors, kPart>(job, row, x, columns);
  for (; x + kPlaces <= end; x += kPlaces) places<kPlaces, kVectors, kPart>(job, row, x, 0, job.kernel[1], columns);
  for (; x + 2 <= end; x += 2) places<2, kVectors, kPart>(job, row, x, 0, job.kernel[1], columns);
  for (; x < width; ++x) border<kVectors, kPart>(job, row, x, columns);
}

void run_depthwise(const TileJob& job, int64_t begin, int64_t end) {
  for (int64_t index = begin; index < end; ++index) {
    const Row row = row_of(job, index);
    int64_t channel = 0;
    for (; channel + 2 * kLanes <= job.groups; channel += 2 * kLanes) {
      run_columns<2, false>(job, row, {channel, 2 * kLanes});
    }
    for (; channel + kLanes <= job.groups; channel += kLanes) run_columns<1, false>(job, row, {channel, kLanes});
    if (channel < job.groups) run_columns<1, true>(job, row, {channel, job.groups - channel});
  }
}

TileFunctions functions() { return {kLanes, kLanes, nullptr, run_depthwise}; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(functions);

TileFunctions depthwise_functions() { return HWY_DYNAMIC_DISPATCH(functions)(); }

}  // namespace berth::cpu
#endif
