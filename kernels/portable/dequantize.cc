// quantized_decomposed::dequantize_…: (x - zero point) * scale, and add, which does so with both its tensors.
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"
#include "kernels/portable/quantize.h"

namespace berth::portable {
namespace {

// Inputs: x, scales, zero points, as doubles, which hold all integers of 32 bits; the product is computed in T.
template <typename T>
void dequantize_chunk(const Chunk& chunk) {
  T* out = static_cast<T*>(chunk.out);
  const double* in[3];
  int64_t step[3];
  for (int k = 0; k < 3; ++k) {
    in[k] = static_cast<const double*>(chunk.in[k]);
    step[k] = chunk.splat[k] ? 0 : 1;
  }
  for (int64_t i = 0; i < chunk.n; ++i) {
    const double distance = in[0][i * step[0]] - in[2][i * step[2]];
    out[i] = static_cast<T>(distance) * static_cast<T>(in[1][i * step[1]]);
  }
}

Error check_dtypes(KernelContext& context, const Tensor& input, int64_t dtype, std::optional<int64_t> out_dtype,
                   const Tensor& out) {
  if (!is_integer(input.dtype()) || dtype != static_cast<int64_t>(input.dtype())) {
    return context.fail(Error::kInvalidArgument, "the quantised tensor must be of the integer dtype that is named");
  }
  const int64_t result = out_dtype.value_or(static_cast<int64_t>(DType::kF32));
  if (!is_floating(out.dtype()) || result != static_cast<int64_t>(out.dtype())) {
    return context.fail(Error::kInvalidArgument, "out must be of the floating dtype that is asked for");
  }
  return check_memory(context, input, out);
}

// A scale or zero point as an input of the loop.
Input parameter(const Tensor& tensor) { return {&tensor, DType::kF64, DType::kF64, nullptr}; }
Input parameter(const double& number) { return {nullptr, DType::kF64, DType::kF64, &number}; }

Error dequantize(KernelContext& context, const Tensor& input, const Input& scale, const Input& zero_point,
                 Tensor& out) {
  const bool wide = out.dtype() == DType::kF64 || (scale.tensor != nullptr && scale.tensor->dtype() == DType::kF64);
  const DType compute = wide ? DType::kF64 : DType::kF32;
  const Loop loop = wide ? dequantize_chunk<double> : dequantize_chunk<float>;
  const Input inputs[] = {parameter(input), scale, zero_point};
  return run_elementwise(context, {&out, compute, compute}, inputs, loop, Scalars());
}

template <typename Args>
Error dequantize_with(KernelContext& context, const Args& args, double scale, double zero_point) {
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(check_dtypes(context, args.input, args.dtype, args.out_dtype, out));
  return dequantize(context, args.input, parameter(scale), parameter(zero_point), out);
}

// real: scales of a and b, inverse of out's scale; whole: out's range, zero points of a, b, out.
void add_chunk(const Chunk& chunk) {
  int64_t* out = static_cast<int64_t*>(chunk.out);
  const int64_t* in[2];
  int64_t step[2];
  for (int k = 0; k < 2; ++k) {
    in[k] = static_cast<const int64_t*>(chunk.in[k]);
    step[k] = chunk.splat[k] ? 0 : 1;
  }
  const Scalars& s = *chunk.scalars;
  const float scale[] = {static_cast<float>(s.real[0]), static_cast<float>(s.real[1])};
  const float inverse = static_cast<float>(s.real[2]);
  for (int64_t i = 0; i < chunk.n; ++i) {
    const float a = static_cast<float>(in[0][i * step[0]] - s.whole[2]) * scale[0];
    const float b = static_cast<float>(in[1][i * step[1]] - s.whole[3]) * scale[1];
    const float exact = std::nearbyint((a + b) * inverse) + static_cast<float>(s.whole[4]);
    out[i] = round_to_range(exact, s.whole[0], s.whole[1]);
  }
}

bool is_zero_point(int64_t x) { return x >= INT32_MIN && x <= INT32_MAX; }

}  // namespace

Error dequantize_per_tensor_out(KernelContext& context, const arguments::dequantize_per_tensor_out& args) {
  return dequantize_with(context, args, args.scale, static_cast<double>(args.zero_point));
}

Error dequantize_per_tensor_Tensor_out(KernelContext& context,
                                       const arguments::dequantize_per_tensor_Tensor_out& args) {
  double scale = 1;
  double zero_point = 0;
  BERTH_RETURN_IF_ERROR(read_one(context, args.scale, &scale));
  BERTH_RETURN_IF_ERROR(read_one(context, args.zero_point, &zero_point));
  return dequantize_with(context, args, scale, zero_point);
}

Error dequantize_per_channel_out(KernelContext& context, const arguments::dequantize_per_channel_out& args) {
  const Tensor& input = args.input;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(check_dtypes(context, input, args.dtype, args.out_dtype, out));
  ParameterView scales;
  ParameterView zero_points;
  BERTH_RETURN_IF_ERROR(scales.along(context, args.scales, input, args.axis));
  if (args.zero_points == nullptr) return dequantize(context, input, parameter(scales.tensor()), parameter(0.0), out);
  BERTH_RETURN_IF_ERROR(zero_points.along(context, *args.zero_points, input, args.axis));
  return dequantize(context, input, parameter(scales.tensor()), parameter(zero_points.tensor()), out);
}

Error dequantize_per_token_out(KernelContext& context, const arguments::dequantize_per_token_out& args) {
  const Tensor& input = args.input;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(check_dtypes(context, input, args.dtype, args.output_dtype, out));
  ParameterView scales;
  ParameterView zero_points;
  BERTH_RETURN_IF_ERROR(scales.for_rows(context, args.scales, input));
  BERTH_RETURN_IF_ERROR(zero_points.for_rows(context, args.zero_points, input));
  return dequantize(context, input, parameter(scales.tensor()), parameter(zero_points.tensor()), out);
}

Error quantized_add_out(KernelContext& context, const arguments::quantized_add_out& args) {
  const Tensor& a = args.a;
  const Tensor& b = args.b;
  Tensor& out = args.out;
  const auto dtype = static_cast<int64_t>(out.dtype());
  QuantRange range = {0, 0};
  BERTH_RETURN_IF_ERROR(read_range(context, args.out_quant_min, args.out_quant_max, dtype, out, &range));
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, a, out));
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, b, out));
  BERTH_RETURN_IF_ERROR(check_memory(context, a, b));
  for (const int64_t zero_point : {args.a_zero_point, args.b_zero_point, args.out_zero_point}) {
    if (!is_zero_point(zero_point)) {
      return context.fail(Error::kInvalidArgument, "a zero point does not fit in 32 bits");
    }
  }
  const Scalars scalars = {{args.a_scale, args.b_scale, 1 / args.out_scale},
                           {range.low, range.high, args.a_zero_point, args.b_zero_point, args.out_zero_point}};
  const Input inputs[] = {{&a, DType::kI64, a.dtype(), nullptr}, {&b, DType::kI64, b.dtype(), nullptr}};
  return run_elementwise(context, {&out, DType::kI64, out.dtype()}, inputs, add_chunk, scalars);
}

}  // namespace berth::portable
