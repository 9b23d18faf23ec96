#include "kernels/cpu/dynamic_quantize.h"

#include <algorithm>

#include "kernels/cpu/element_bytes.h"
#include "kernels/cpu/element_range.h"
#include "kernels/portable/dynamic_quantize.h"
#include "kernels/portable/portable.h"

namespace berth::cpu {
namespace {

constexpr int64_t kMostParts = 64;
// Elements that are worth another thread.
constexpr int64_t kGrain = 1 << 15;

}  // namespace

Error dynamic_quantize_out(KernelContext& context, const arguments::dynamic_quantize_out& args) {
  bool flat = false;
  BERTH_RETURN_IF_ERROR(portable::prepare_dynamic_quantize(context, args, &flat));
  if (!flat) return portable::dynamic_quantize_out(context, args);
  const float* in = args.input.data<float>();
  const int64_t n = args.input.numel();
  ElementRange ranges[kMostParts];
  const int64_t parts = std::clamp<int64_t>(n / kGrain, 1, kMostParts);
  context.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t first = n * part / parts;
      ranges[part] = element_range(in + first, n * (part + 1) / parts - first);
    }
  });
  ElementRange all = ranges[0];
  for (int64_t part = 1; part < parts; ++part) {
    if (!(ranges[part].low >= all.low)) all.low = all.low != all.low ? all.low : ranges[part].low;
    if (!(ranges[part].high <= all.high)) all.high = all.high != all.high ? all.high : ranges[part].high;
  }
  const portable::DynamicRange range = portable::dynamic_range(all.low, all.high);
  *args.out_scale.data<float>() = range.scale;
  *args.out_zero_point.data<uint8_t>() = range.zero_point;
  Quantising by;
  by.factor = range.scale;
  by.zero = static_cast<float>(range.zero_point);
  by.high = 255;
  auto* out = args.out.data<uint8_t>();
  context.parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    quantise_elements(in + begin, end - begin, by, DType::kU8, out + begin);
  });
  return Error::kOk;
}

}  // namespace berth::cpu
