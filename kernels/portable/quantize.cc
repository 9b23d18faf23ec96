// quantized_decomposed::quantize_…: floating numbers to integers.
#include "kernels/portable/quantize.h"

#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// round(x * inverse) + zero point, within [whole[0], whole[1]]; `zero_first`: round(x * inverse + zero point).
template <typename T, bool zero_first>
int64_t quantize_one(T x, T inverse, int64_t zero, const Scalars& scalars) {
  const T scaled = x * inverse;
  const T zero_point = static_cast<T>(zero);
  const T exact = zero_first ? scaled + zero_point : std::nearbyint(scaled) + zero_point;
  return round_to_range(exact, scalars.whole[0], scalars.whole[1]);
}

// Inputs: x, scales, zero points.
template <typename T, bool zero_first>
void quantize_chunk(const Chunk& chunk) {
  int64_t* out = static_cast<int64_t*>(chunk.out);
  const T* x = static_cast<const T*>(chunk.in[0]);
  const T* scale = static_cast<const T*>(chunk.in[1]);
  const int64_t* zero = static_cast<const int64_t*>(chunk.in[2]);
  const int64_t step[] = {chunk.splat[0] ? 0 : 1, chunk.splat[1] ? 0 : 1, chunk.splat[2] ? 0 : 1};
  for (int64_t i = 0; i < chunk.n; ++i) {
    const T inverse = 1 / scale[i * step[1]];
    out[i] = quantize_one<T, zero_first>(x[i * step[0]], inverse, zero[i * step[2]], *chunk.scalars);
  }
}

// One scale for all: real[0] is its inverse, whole[2] the zero point.
void quantize_all(const Chunk& chunk) {
  int64_t* out = static_cast<int64_t*>(chunk.out);
  const float* x = static_cast<const float*>(chunk.in[0]);
  const float inverse = static_cast<float>(chunk.scalars->real[0]);
  const int64_t step = chunk.splat[0] ? 0 : 1;
  for (int64_t i = 0; i < chunk.n; ++i) {
    out[i] = quantize_one<float, false>(x[i * step], inverse, chunk.scalars->whole[2], *chunk.scalars);
  }
}

Error check_input(KernelContext& context, const Tensor& input, const Tensor& out) {
  if (!is_floating(input.dtype())) return unsupported_dtype(context);
  return check_memory(context, input, out);
}

template <typename Args>
Error quantize_with(KernelContext& context, const Args& args, double scale, int64_t zero_point) {
  const Tensor& input = args.input;
  Tensor& out = args.out;
  QuantRange range = {0, 0};
  BERTH_RETURN_IF_ERROR(read_range(context, args.quant_min, args.quant_max, args.dtype, out, &range));
  BERTH_RETURN_IF_ERROR(check_input(context, input, out));
  const Scalars scalars = {{1 / scale}, {range.low, range.high, zero_point}};
  const Input x = {&input, DType::kF32, DType::kF32, nullptr};
  return run_elementwise(context, {&out, DType::kI64, out.dtype()}, Span<const Input>(&x, 1), quantize_all, scalars);
}

struct Parameters {
  const Tensor& scales;
  const Tensor& zero_points;
  QuantRange range;
};

// PyTorch computes in f64 when the scales are f64.
template <bool zero_first>
Error quantize_by(KernelContext& context, const Tensor& input, const Parameters& p, Tensor& out) {
  BERTH_RETURN_IF_ERROR(check_input(context, input, out));
  if (!is_floating(p.scales.dtype()) || !is_integer(p.zero_points.dtype())) {
    return context.fail(Error::kInvalidArgument, "scales must be floating and zero points integers");
  }
  const bool wide = p.scales.dtype() == DType::kF64;
  const DType compute = wide ? DType::kF64 : DType::kF32;
  const Loop loop = wide ? quantize_chunk<double, zero_first> : quantize_chunk<float, zero_first>;
  const Input inputs[] = {{&input, compute, compute, nullptr},
                          {&p.scales, compute, compute, nullptr},
                          {&p.zero_points, DType::kI64, DType::kI64, nullptr}};
  return run_elementwise(context, {&out, DType::kI64, out.dtype()}, inputs, loop, {{}, {p.range.low, p.range.high, 0}});
}

}  // namespace

Error quantize_per_tensor_out(KernelContext& context, const arguments::quantize_per_tensor_out& args) {
  return quantize_with(context, args, args.scale, args.zero_point);
}

Error quantize_per_tensor_Tensor_out(KernelContext& context, const arguments::quantize_per_tensor_Tensor_out& args) {
  double scale = 1;
  double zero_point = 0;
  BERTH_RETURN_IF_ERROR(read_one(context, args.scale, &scale));
  BERTH_RETURN_IF_ERROR(read_one(context, args.zero_point, &zero_point));
  int64_t whole = 0;
  convert_elements(DType::kF64, &zero_point, DType::kI64, &whole, 1);
  return quantize_with(context, args, scale, whole);
}

Error quantize_per_channel_out(KernelContext& context, const arguments::quantize_per_channel_out& args) {
  const Tensor& input = args.input;
  Tensor& out = args.out;
  QuantRange range = {0, 0};
  ParameterView scales;
  ParameterView zero_points;
  BERTH_RETURN_IF_ERROR(read_range(context, args.quant_min, args.quant_max, args.dtype, out, &range));
  BERTH_RETURN_IF_ERROR(scales.along(context, args.scales, input, args.axis));
  BERTH_RETURN_IF_ERROR(zero_points.along(context, args.zero_points, input, args.axis));
  return quantize_by<false>(context, input, {scales.tensor(), zero_points.tensor(), range}, out);
}

// Here the zero point goes in before rounding.
Error quantize_per_token_out(KernelContext& context, const arguments::quantize_per_token_out& args) {
  const Tensor& input = args.input;
  Tensor& out = args.out;
  QuantRange range = {0, 0};
  ParameterView scales;
  ParameterView zero_points;
  BERTH_RETURN_IF_ERROR(read_range(context, args.quant_min, args.quant_max, args.dtype, out, &range));
  BERTH_RETURN_IF_ERROR(scales.for_rows(context, args.scales, input));
  BERTH_RETURN_IF_ERROR(zero_points.for_rows(context, args.zero_points, input));
  return quantize_by<true>(context, input, {scales.tensor(), zero_points.tensor(), range}, out);
}

}  // namespace berth::portable
