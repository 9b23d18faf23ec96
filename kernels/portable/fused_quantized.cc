// The arguments of quantised products, and what happens to their sums. Compiled without fused multiply-add.
#include "kernels/portable/fused_quantized.h"

#include <cstring>

#include "kernels/portable/layout_arguments.h"

namespace berth::portable {
namespace {

int32_t lowest(DType dtype) { return dtype == DType::kI8 ? INT8_MIN : 0; }
int32_t highest(DType dtype) { return dtype == DType::kI8 ? INT8_MAX : UINT8_MAX; }
bool within(int64_t x, DType dtype) { return x >= lowest(dtype) && x <= highest(dtype); }

bool is_text(StringRef text, const char* expected) {
  return text.size == std::strlen(expected) && std::memcmp(text.data, expected, text.size) == 0;
}

// One number for all, or `count`; sets `*step` to what lies between them.
Error read_numbers(KernelContext& context, const Tensor& numbers, int64_t count, int64_t* step) {
  if (!numbers.is_contiguous() || (numbers.numel() != 1 && numbers.numel() != count)) {
    return context.fail(Error::kInvalidArgument,
                        "a quantised product takes one scale and zero point, or one for each row or column");
  }
  *step = numbers.numel() == 1 ? 0 : 1;
  return check_memory(context, numbers);
}

Error read_scale(KernelContext& context, const Tensor& scale, int64_t count, const float** data, int64_t* step) {
  if (scale.dtype() != DType::kF32) {
    return context.fail(Error::kInvalidArgument, "the scales of a quantised product must be f32");
  }
  *data = scale.data<float>();
  return read_numbers(context, scale, count, step);
}

Error read_zeros(KernelContext& context, const Tensor* zeros, DType of, int64_t count, bool on_device,
                 ZeroPoints* out) {
  if (zeros == nullptr) return Error::kOk;
  if (zeros->dtype() != of && zeros->dtype() != DType::kI32) {
    return context.fail(Error::kInvalidArgument, "a zero point must be of its tensor's dtype, or i32");
  }
  BERTH_RETURN_IF_ERROR(read_numbers(context, *zeros, count, &out->step));
  out->data = zeros->raw();
  out->dtype = zeros->dtype();
  if (on_device) return Error::kOk;
  for (int64_t i = 0; i < zeros->numel() && zeros->dtype() == DType::kI32; ++i) {
    if (within(zeros->data<int32_t>()[i], of)) continue;
    return context.fail(Error::kInvalidArgument, "a zero point is not a number of its tensor's dtype");
  }
  return Error::kOk;
}

Error read_bias(KernelContext& context, const Tensor* bias, int64_t columns, QuantizedProduct* p) {
  if (bias == nullptr) return Error::kOk;
  if ((bias->dtype() != DType::kF32 && bias->dtype() != DType::kI32) || bias->rank() != 1 || bias->size(0) != columns) {
    return context.fail(Error::kInvalidArgument, "the bias of a quantised product is i32 or f32, one for each column");
  }
  BERTH_RETURN_IF_ERROR(check_memory(context, *bias));
  if (bias->dtype() == DType::kI32) {
    p->whole_bias = bias->data<int32_t>();
  } else {
    p->bias = bias->data<float>();
  }
  return Error::kOk;
}

Error read_residual(KernelContext& context, const Tensor* residual, double scale, int64_t zero, QuantizedProduct* p) {
  p->residual = residual;
  if (residual == nullptr) return Error::kOk;
  if (!is_byte(residual->dtype()) && residual->dtype() != DType::kF32) {
    return context.fail(Error::kInvalidArgument, "the residual of a quantised product must be u8, i8 or f32");
  }
  if (is_byte(residual->dtype()) && !within(zero, residual->dtype())) {
    return context.fail(Error::kInvalidArgument, "the residual's zero point is not a number of its dtype");
  }
  p->residual_scale = static_cast<float>(scale);
  p->residual_zero = is_byte(residual->dtype()) ? static_cast<int32_t>(zero) : 0;
  if (!same_sizes(*residual, *p->out)) {
    return context.fail(Error::kInvalidArgument, "the residual must be as large as out");
  }
  return check_memory(context, *residual);
}

ByteRounding rounding_of(double scale, bool divides, int64_t zero_point, int64_t low, int64_t high) {
  ByteRounding rounding;
  rounding.scale = static_cast<float>(scale);
  rounding.inverse = static_cast<float>(1 / scale);
  rounding.divides = divides;
  rounding.zero_point = static_cast<int32_t>(zero_point);
  rounding.low = static_cast<int32_t>(low);
  rounding.high = static_cast<int32_t>(high);
  return rounding;
}

// A result of f32 that stands for bytes: the sums are rounded to those, and multiplied by the scale of the middle.
template <typename Args>
Error read_numbers_of_bytes(KernelContext& context, const Args& args, bool divides, QuantizedProduct* p) {
  const auto is_byte_number = [](int64_t x) { return x >= INT8_MIN && x <= UINT8_MAX; };
  if (args.out_min > args.out_max || !is_byte_number(args.out_min) || !is_byte_number(args.out_max) ||
      !is_byte_number(args.middle_zero_point)) {
    return context.fail(Error::kInvalidArgument, "out_min, out_max and the zero point are not a range of 8 bits");
  }
  if (divides && args.out_scale != 1) {
    return context.fail(Error::kInvalidArgument, "what is divided by a scale does not become numbers of another one");
  }
  p->middle = rounding_of(args.out_scale, false, args.middle_zero_point, args.out_min, args.out_max);
  p->middle.scale = static_cast<float>(args.middle_scale);
  return Error::kOk;
}

template <typename Args>
Error read_rounding(KernelContext& context, const Args& args, QuantizedProduct* p) {
  const bool divides = is_text(args.rounding, "divide");
  if (!divides && !is_text(args.rounding, "inverse")) {
    return context.fail(Error::kInvalidArgument, "the rounding of a quantised product is 'divide' or 'inverse'");
  }
  const DType out = args.out.dtype();
  if (args.dtype != static_cast<int64_t>(out)) {
    return context.fail(Error::kInvalidArgument, "out must be of the dtype that is named");
  }
  p->has_middle = args.middle_scale != 0;
  if (out == DType::kF32) return p->has_middle ? read_numbers_of_bytes(context, args, divides, p) : Error::kOk;
  if (!within(args.out_zero_point, out) || (p->has_middle && !within(args.middle_zero_point, out))) {
    return context.fail(Error::kInvalidArgument, "a zero point is not a number of the result's dtype");
  }
  if (args.out_min > args.out_max || !within(args.out_min, out) || !within(args.out_max, out)) {
    return context.fail(Error::kInvalidArgument, "out_min and out_max are not a range of the result's dtype");
  }
  p->rounding = rounding_of(args.out_scale, divides, args.out_zero_point, args.out_min, args.out_max);
  if (p->has_middle) {
    p->middle = rounding_of(args.middle_scale, divides, args.middle_zero_point, lowest(out), highest(out));
  }
  return Error::kOk;
}

template <typename Args>
Error check_types(KernelContext& context, const Args& args, const Tensor& weight) {
  const DType out = args.out.dtype();
  if (is_byte(args.input.dtype()) && is_byte(weight.dtype()) && (is_byte(out) || out == DType::kF32)) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "quantised products take u8 and i8, and give u8, i8 or f32");
}

// What does not depend on the kind of product. REQUIRES: out has its sizes.
template <typename Args>
Error read_product(KernelContext& context, const Args& args, const Tensor& weight, int64_t rows, int64_t columns,
                   QuantizedProduct* p) {
  p->out = &args.out;
  p->signed_input = args.input.dtype() == DType::kI8;
  p->signed_weight = weight.dtype() == DType::kI8;
  BERTH_RETURN_IF_ERROR(read_activation(context, args, &p->activation));
  BERTH_RETURN_IF_ERROR(read_rounding(context, args, p));
  BERTH_RETURN_IF_ERROR(
      read_zeros(context, args.input_zero_point, args.input.dtype(), rows, p->on_device, &p->input_zero));
  BERTH_RETURN_IF_ERROR(
      read_zeros(context, args.weight_zero_point, weight.dtype(), columns, p->on_device, &p->weight_zero));
  BERTH_RETURN_IF_ERROR(read_scale(context, args.scale, columns, &p->scale, &p->scale_step));
  if (args.input_scale != nullptr) {
    BERTH_RETURN_IF_ERROR(read_scale(context, *args.input_scale, rows, &p->input_scale, &p->input_scale_step));
  }
  BERTH_RETURN_IF_ERROR(read_bias(context, args.bias, columns, p));
  BERTH_RETURN_IF_ERROR(read_residual(context, args.residual, args.residual_scale, args.residual_zero_point, p));
  return check_memory(context, args.input, args.out);
}

float residual_at(const QuantizedProduct& p, int64_t i) {
  const Tensor& residual = *p.residual;
  if (residual.dtype() == DType::kF32) return residual.data<float>()[i];
  const int32_t x = residual.dtype() == DType::kU8 ? residual.data<uint8_t>()[i] : residual.data<int8_t>()[i];
  return static_cast<float>(x - p.residual_zero) * p.residual_scale;
}

int32_t wrapping_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

}  // namespace

Error read_quantized_linear(KernelContext& context, const arguments::quantized_linear_out& args, const Tensor& weight,
                            QuantizedProduct* product) {
  const Tensor& input = args.input;
  BERTH_RETURN_IF_ERROR(check_types(context, args, weight));
  if (!input.is_contiguous() || !args.out.is_contiguous() ||
      (args.residual != nullptr && !args.residual->is_contiguous())) {
    return context.fail(Error::kInvalidArgument, "a quantised product's tensors must be in row-major order");
  }
  const bool batched = weight.rank() == 3;
  const bool ranks = batched ? input.rank() == 3 && input.size(0) == weight.size(0) : weight.rank() == 2;
  if (input.rank() < 1 || !ranks || input.size(input.rank() - 1) != weight.size(weight.rank() - 2)) {
    return context.fail(Error::kInvalidArgument, "the sizes of a quantised product's tensors do not fit");
  }
  const int64_t columns = weight.size(weight.rank() - 1);
  Sizes sizes = sizes_of(input);
  int64_t rows = 1;  // that may differ
  for (int d = 0; d + 1 < sizes.rank && !batched; ++d) rows *= sizes.data[d];
  sizes.data[sizes.rank - 1] = static_cast<int32_t>(columns);
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out, sizes.span()));
  return read_product(context, args, weight, rows, columns, product);
}

Error read_quantized_conv(KernelContext& context, const arguments::quantized_conv_out& args, const Tensor& weight,
                          QuantizedProduct* product, Convolution* convolution) {
  BERTH_RETURN_IF_ERROR(check_types(context, args, weight));
  convolution->input = &args.input;
  convolution->weight = &weight;
  convolution->out = &args.out;
  convolution->groups = args.groups;
  convolution->checked_types = true;
  // Without a transposition nothing reads the last list.
  BERTH_RETURN_IF_ERROR(
      read_convolution_lists(context, {args.stride, args.padding, args.dilation, args.padding}, convolution));
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out, convolution_sizes(*convolution).span()));
  return read_product(context, args, weight, 1, convolution->groups * convolution->out_channels, product);
}

void finish_sums(const QuantizedProduct& p, const int32_t* sums, int64_t count, const QuantizedPlace& place) {
  float t[kQuantizedChunk];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t column = place.column + i;
    const int32_t sum = p.whole_bias == nullptr ? sums[i] : wrapping_sum(sums[i], p.whole_bias[column]);
    float m = p.scale[column * p.scale_step];
    if (p.input_scale != nullptr) m = p.input_scale[place.row * p.input_scale_step] * m;
    t[i] = static_cast<float>(sum) * m;
    if (p.bias != nullptr) t[i] = t[i] + p.bias[column];
    if (p.has_middle) t[i] = static_cast<float>(p.middle(t[i]) - p.middle.zero_point) * p.middle.scale;
    if (p.residual != nullptr) t[i] = t[i] + residual_at(p, place.residual + i * place.residual_step);
  }
  activate(p.activation, t, count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = place.out + i * place.out_step;
    if (p.out->dtype() == DType::kF32) {
      p.out->data<float>()[at] = t[i];
    } else {
      p.out->data<uint8_t>()[at] = static_cast<uint8_t>(p.rounding(t[i]));
    }
  }
}

}  // namespace berth::portable
