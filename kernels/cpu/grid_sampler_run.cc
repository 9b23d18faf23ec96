#include "kernels/cpu/grid_sampler_run.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/grid_sampler_run.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Whole = hn::RebindToSigned<Floats>;
constexpr int64_t kLanes = HWY_LANES(float);
constexpr int kTaps = 4;
static_assert(kSampledPlaces % kLanes == 0, "runs are whole registers");

// The pixels around each place. Those outside of the image are not read: `inside` has no bit of them.
struct Around {
  HWY_ALIGN int32_t pixel[kTaps][kSampledPlaces];
  HWY_ALIGN int32_t inside[kTaps][kSampledPlaces];
  HWY_ALIGN float weight[kTaps][kSampledPlaces];
};

// One axis of some places: the two pixels around each, and what they count.
template <typename V>
struct Axis {
  V pixel[2], inside[2], weight[2];  // `inside` is a mask
};

template <typename V>
HWY_INLINE Axis<V> find_axis(V at, int64_t size, const SampleRun& run) {
  const Floats d;
  const V zero = hn::Zero(d), one = hn::Set(d, 1), n = hn::Set(d, static_cast<float>(size));
  const V half = hn::Set(d, 0.5f);
  V x = hn::Add(at, one);
  x = run.align_corners ? hn::Mul(hn::Mul(x, half), hn::Sub(n, one)) : hn::Mul(hn::Sub(hn::Mul(x, n), one), half);
  // NaN becomes 0.
  if (run.border) x = hn::IfThenElseZero(hn::Gt(x, zero), hn::Min(x, hn::Sub(n, one)));
  const V base = hn::Floor(x);
  const V part = hn::Sub(x, base);
  Axis<V> axis = {{base, hn::Add(base, one)}, {}, {hn::Sub(one, part), part}};
  for (int i = 0; i < 2; ++i) {
    const auto inside = hn::And(hn::Ge(axis.pixel[i], zero), hn::Lt(axis.pixel[i], n));
    axis.pixel[i] = hn::IfThenElseZero(inside, axis.pixel[i]);
    axis.inside[i] = hn::VecFromMask(d, inside);
  }
  return axis;
}

// Whether all pixels are inside.
HWY_INLINE bool find_pixels(const SampleRun& run, Around* around) {
  const Floats d;
  const Whole whole;
  const auto width = hn::Set(whole, static_cast<int32_t>(run.width));
  auto all = hn::Set(whole, -1);
  HWY_ALIGN float rest[2 * kLanes] = {};
  for (int64_t i = 0; i < run.places; i += kLanes) {
    const float* grid = run.grid + 2 * i;
    if (i + kLanes > run.places) {
      std::memcpy(rest, grid, 2 * (run.places - i) * sizeof(float));
      grid = rest;
    }
    hn::Vec<Floats> x, y;
    hn::LoadInterleaved2(d, grid, x, y);
    const auto columns = find_axis(x, run.width, run);
    const auto rows = find_axis(y, run.height, run);
    for (int tap = 0; tap < kTaps; ++tap) {
      const int row = tap / 2;
      const int column = tap % 2;
      const auto first = hn::Mul(hn::ConvertTo(whole, rows.pixel[row]), width);
      const auto inside = hn::BitCast(whole, hn::And(rows.inside[row], columns.inside[column]));
      hn::Store(hn::Add(first, hn::ConvertTo(whole, columns.pixel[column])), whole, around->pixel[tap] + i);
      hn::Store(inside, whole, around->inside[tap] + i);
      hn::Store(hn::Mul(rows.weight[row], columns.weight[column]), d, around->weight[tap] + i);
      all = hn::And(all, inside);
    }
  }
  return hn::AllTrue(whole, hn::Lt(all, hn::Zero(whole)));
}

template <bool kInside>
HWY_INLINE hn::Vec<Floats> blend(const float* image, const Around& around, int64_t i) {
  const Floats d;
  const Whole whole;
  auto sum = hn::Zero(d);
  for (int tap = 0; tap < kTaps; ++tap) {
    const auto pixel = hn::GatherIndex(d, image, hn::Load(whole, around.pixel[tap] + i));
    auto part = hn::Mul(pixel, hn::Load(d, around.weight[tap] + i));
    // Even where the pixel that stands in for one outside is infinite.
    if (!kInside) part = hn::And(part, hn::BitCast(d, hn::Load(whole, around.inside[tap] + i)));
    sum = hn::Add(sum, part);
  }
  return sum;
}

template <bool kInside>
void blend_all(const SampleRun& run, const Around& around) {
  const Floats d;
  const int64_t pixels = run.height * run.width;
  const int64_t whole = run.places / kLanes * kLanes;
  for (int64_t c = 0; c < run.channels; ++c) {
    const float* const image = run.image + c * pixels;
    float* const out = run.out + c * run.apart;
    for (int64_t i = 0; i < whole; i += kLanes) hn::StoreU(blend<kInside>(image, around, i), d, out + i);
    if (whole < run.places) {
      HWY_ALIGN float rest[kLanes];
      hn::Store(blend<kInside>(image, around, whole), d, rest);
      std::memcpy(out + whole, rest, (run.places - whole) * sizeof(float));
    }
  }
}

void sample(const SampleRun& run) {
  Around around;
  find_pixels(run, &around) ? blend_all<true>(run, around) : blend_all<false>(run, around);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(sample);

void sample_places(const SampleRun& run) { HWY_DYNAMIC_DISPATCH(sample)(run); }

}  // namespace berth::cpu
#endif
