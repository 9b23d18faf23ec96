#include "kernels/portable/dynamic_quantize.h"

#include <cmath>

#include "kernels/portable/convert.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/math.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

uint8_t as_byte(float x) {
  uint8_t byte = 0;
  convert_elements(DType::kF32, &x, DType::kU8, &byte, 1);
  return byte;
}

}  // namespace

DynamicRange dynamic_range(float low, float high) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  low = math::bounded(low, -kInfinity, 0);
  high = math::bounded(high, 0, kInfinity);
  const float range = high - low;
  const float scale = range == 0 ? 1 : range / 255;
  return {scale, as_byte(std::nearbyint(math::bounded(-(low / scale), 0, 255)))};
}

Error prepare_dynamic_quantize(KernelContext& context, const arguments::dynamic_quantize_out& args, bool* flat) {
  Tensor& out = args.out;
  Tensor& scale = args.out_scale;
  Tensor& zero_point = args.out_zero_point;
  if (args.input.dtype() != DType::kF32 || out.dtype() != DType::kU8 || scale.dtype() != DType::kF32 ||
      zero_point.dtype() != DType::kU8) {
    return context.fail(Error::kInvalidArgument, "dynamic quantisation is from f32 to u8, with a scale of f32");
  }
  if (args.input.numel() == 0) {
    return context.fail(Error::kInvalidArgument, "dynamic quantisation needs elements, whose range it is for");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, args.input.sizes()));
  BERTH_RETURN_IF_ERROR(resize_out(context, scale, {}));
  BERTH_RETURN_IF_ERROR(resize_out(context, zero_point, {}));
  BERTH_RETURN_IF_ERROR(check_memory(context, args.input, out));
  *flat = same_layout(args.input, out);
  return check_memory(context, scale, zero_point);
}

Error dynamic_quantize_out(KernelContext& context, const arguments::dynamic_quantize_out& args) {
  bool flat = false;
  BERTH_RETURN_IF_ERROR(prepare_dynamic_quantize(context, args, &flat));
  const Tensor& input = args.input;
  Tensor& out = args.out;
  const float* x = input.data<float>();
  float low = x[0];
  float high = x[0];
  for (int64_t i = 0; i < input.numel(); ++i) {
    if (x[i] < low || x[i] != x[i]) low = x[i];
    if (x[i] > high || x[i] != x[i]) high = x[i];
    if (low != low) break;
  }
  const DynamicRange range = dynamic_range(low, high);
  *args.out_scale.data<float>() = range.scale;
  *args.out_zero_point.data<uint8_t>() = range.zero_point;
  context.parallel_for(input.numel(), 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float element = x[flat ? i : element_offset(input, i)];
      const float sum = std::nearbyint(element / range.scale) + static_cast<float>(range.zero_point);
      out.data<uint8_t>()[flat ? i : element_offset(out, i)] = as_byte(math::bounded(sum, 0, 255));
    }
  });
  return Error::kOk;
}

}  // namespace berth::portable
