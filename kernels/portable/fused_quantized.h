// berth::quantized_linear and berth::quantized_conv: what they compute, and their arguments, checked once for every
// kernel of them. Every kernel gives the same bits, on any instruction set and number of threads.
//
//   s = sum of (x - input_zero) * (w - weight_zero)                 32 bits, which wrap around
//   s = s + bias                                                    a bias of i32; wraps around
//   t = float(s) * m       m = scale[column], or input_scale[row] * scale[column], rounded to f32
//   t = t + bias                                                    a bias of f32; the product is rounded before
//   t = dequantised(quantised(t))       with the numbers of `middle`; where out is f32 with out_min, out_max, out_scale
//   t = t + residual       of f32, or float(residual - its zero point) * its scale
//   t = activation(t)
//   out = t                of f32
//   out = quantised(t)     of 8 bits: clamp(round(t / scale) + zero_point, low, high), halves to even, NaN to low
//
// A padded position of a convolution holds the input's zero point: a real 0. A weight of a linear may have three
// dimensions, [batch, depth, columns], for an input of [batch, rows, depth]: then the input has one scale and zero
// point.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/portable/arguments.h"
#include "kernels/portable/conv_arguments.h"
#include "kernels/portable/fused_activation.h"

namespace berth::portable {

/// How a float becomes 8 bits.
struct ByteRounding {
  float scale = 1;
  float inverse = 1;    // of the scale
  bool divides = true;  // t / scale; else t * inverse
  int32_t zero_point = 0;
  int32_t low = 0, high = 0;

  int32_t operator()(float t) const {
    const float rounded = std::nearbyint(divides ? t / scale : t * inverse);
    if (!(rounded > static_cast<float>(low - zero_point))) return low;  // NaN too
    return rounded < static_cast<float>(high - zero_point) ? static_cast<int32_t>(rounded) + zero_point : high;
  }
};

/// Zero points: one for all, or one an index.
struct ZeroPoints {
  const void* data = nullptr;  // null: all are 0
  DType dtype = DType::kI32;   // u8, i8 or i32
  int64_t step = 0;

  int32_t operator[](int64_t i) const {
    if (data == nullptr) return 0;
    if (dtype == DType::kI32) return static_cast<const int32_t*>(data)[i * step];
    if (dtype == DType::kU8) return static_cast<const uint8_t*>(data)[i * step];
    return static_cast<const int8_t*>(data)[i * step];
  }
};

/// The arguments that both operators have. Pointers are those of the call's tensors.
struct QuantizedProduct {
  bool on_device = false;  // set before arguments are read: zero points are a device's memory, and not looked at
  bool signed_input = false, signed_weight = true;
  ZeroPoints input_zero, weight_zero;  // one a row; one a column
  const float* input_scale = nullptr;  // may be null
  int64_t input_scale_step = 0;
  const float* scale = nullptr;
  int64_t scale_step = 0;
  const int32_t* whole_bias = nullptr;  // at most one of the two
  const float* bias = nullptr;
  const Tensor* residual = nullptr;  // may be null
  float residual_scale = 1;
  int32_t residual_zero = 0;
  Activation activation;
  bool has_middle = false;
  ByteRounding middle;
  ByteRounding rounding;  // of a result of 8 bits
  Tensor* out = nullptr;
};

/// Checks all arguments, the values of zero points and the memory of all tensors but the weight's, and sets the sizes
/// of the output. `weight` is the dense one, perhaps without memory; `packing` is not looked at.
Error read_quantized_linear(KernelContext& context, const arguments::quantized_linear_out& args, const Tensor& weight,
                            QuantizedProduct* product);
/// The same. The convolution has no strides yet (read_convolution_strides).
Error read_quantized_conv(KernelContext& context, const arguments::quantized_conv_out& args, const Tensor& weight,
                          QuantizedProduct* product, Convolution* convolution);

/// Where `count` elements of one row of the result lie, and those of the residual, in elements of each.
struct QuantizedPlace {
  int64_t row = 0, column = 0;
  int64_t out = 0, out_step = 1;
  int64_t residual = 0, residual_step = 1;
};

/// All that happens to the sums, without the bias. REQUIRES: count <= kQuantizedChunk
constexpr int64_t kQuantizedChunk = 256;
void finish_sums(const QuantizedProduct& product, const int32_t* sums, int64_t count, const QuantizedPlace& place);

}  // namespace berth::portable
