// quantized_decomposed: numbers to whole ones of few bits, and back, by a scale for all or one a channel.
#include "kernels/portable/quantize.h"

#include "backends/vulkan/kernels/kernels.h"
#include "backends/vulkan/kernels/typed.h"

namespace berth::vulkan {
namespace {

Error check_dequantized(KernelContext& context, const Tensor& input, int64_t dtype, std::optional<int64_t> out_dtype,
                        const Tensor& out) {
  const int64_t result = out_dtype.value_or(static_cast<int64_t>(DType::kF32));
  if (!is_integer(input.dtype()) || dtype != static_cast<int64_t>(input.dtype()) || !is_floating(out.dtype()) ||
      result != static_cast<int64_t>(out.dtype())) {
    return context.fail(Error::kInvalidArgument, "the quantised tensor and the result must be of the dtypes named");
  }
  return Error::kOk;
}

}  // namespace

Error quantize_per_tensor_out(KernelContext& context, const arguments::quantize_per_tensor_out& args) {
  portable::QuantRange range = {0, 0};
  BERTH_RETURN_IF_ERROR(portable::read_range(context, args.quant_min, args.quant_max, args.dtype, args.out, &range));
  Typed typed(context, TypedOp::kQuantize);
  typed.tensor(args.input).real(1 / args.scale).real(static_cast<double>(args.zero_point));
  return typed.limits(range.low, range.high).run(args.out);
}

Error quantize_per_channel_out(KernelContext& context, const arguments::quantize_per_channel_out& args) {
  portable::QuantRange range = {0, 0};
  portable::ParameterView scales, zero_points;
  BERTH_RETURN_IF_ERROR(portable::read_range(context, args.quant_min, args.quant_max, args.dtype, args.out, &range));
  BERTH_RETURN_IF_ERROR(scales.along(context, args.scales, args.input, args.axis));
  BERTH_RETURN_IF_ERROR(zero_points.along(context, args.zero_points, args.input, args.axis));
  Typed typed(context, TypedOp::kQuantize);
  typed.tensor(args.input).tensor(scales.tensor()).tensor(zero_points.tensor());
  return typed.limits(range.low, range.high).run(args.out);
}

Error dequantize_per_tensor_out(KernelContext& context, const arguments::dequantize_per_tensor_out& args) {
  BERTH_RETURN_IF_ERROR(check_dequantized(context, args.input, args.dtype, args.out_dtype, args.out));
  Typed typed(context, TypedOp::kDequantize);
  return typed.tensor(args.input).real(args.scale).whole(args.zero_point).run(args.out);
}

Error dequantize_per_channel_out(KernelContext& context, const arguments::dequantize_per_channel_out& args) {
  BERTH_RETURN_IF_ERROR(check_dequantized(context, args.input, args.dtype, args.out_dtype, args.out));
  portable::ParameterView scales, zero_points;
  BERTH_RETURN_IF_ERROR(scales.along(context, args.scales, args.input, args.axis));
  Typed typed(context, TypedOp::kDequantize);
  typed.tensor(args.input).tensor(scales.tensor());
  if (args.zero_points == nullptr) return typed.whole(0).run(args.out);
  BERTH_RETURN_IF_ERROR(zero_points.along(context, *args.zero_points, args.input, args.axis));
  return typed.tensor(zero_points.tensor()).run(args.out);
}

}  // namespace berth::vulkan
