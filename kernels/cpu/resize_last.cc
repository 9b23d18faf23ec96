#include "kernels/cpu/resize_last.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/resize_last.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace berth::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
constexpr int64_t kLanes = HWY_LANES(float);

// The four pixels around a position, and its weights.
struct Around {
  const float* above[2];
  const float* below[2];
  float right, down;
};

template <typename D>
HWY_INLINE void blend_channels(D d, const Around& p, int64_t c, float* out) {
  const auto left = hn::Set(d, 1 - p.right);
  const auto right = hn::Set(d, p.right);
  const auto top = hn::MulAdd(left, hn::LoadU(d, p.above[0] + c), hn::Mul(right, hn::LoadU(d, p.above[1] + c)));
  const auto bottom = hn::MulAdd(left, hn::LoadU(d, p.below[0] + c), hn::Mul(right, hn::LoadU(d, p.below[1] + c)));
  hn::StoreU(hn::MulAdd(hn::Set(d, 1 - p.down), top, hn::Mul(hn::Set(d, p.down), bottom)), d, out + c);
}

void blend(const BlendRow& row) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  float* out = row.out;
  for (int64_t x = 0; x < row.width; ++x, out += row.channels) {
    const portable::Between<float>& column = row.columns[x];
    const int64_t first = column.first * row.channels;
    const int64_t second = column.second * row.channels;
    const Around p = {
        {row.above + first, row.above + second}, {row.below + first, row.below + second}, column.weight, row.down};
    int64_t c = 0;
    for (; c + kLanes <= row.channels; c += kLanes) blend_channels(d, p, c, out);
    for (; c < row.channels; ++c) blend_channels(one, p, c, out);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace berth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::cpu {

HWY_EXPORT(blend);

void blend_row(const BlendRow& row) { HWY_DYNAMIC_DISPATCH(blend)(row); }

}  // namespace berth::cpu
#endif
