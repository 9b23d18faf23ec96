// The calls of berth::conv and berth::linear in numbers, checked: what an engine needs to know to get ready for one.
// All members are of one size, without padding, so that specs can be compared byte by byte.
#pragma once

#include <cstdint>

#include "kernels/cpu/packing_layout.h"
#include "kernels/portable/arguments.h"
#include "kernels/portable/fused_activation.h"

namespace berth::cpu {

/// What happens to a sum before it is stored: + bias, + residual, activation.
struct Finish {
  int64_t bias = 0;      // whether there is one
  int64_t residual = 0;  // the same
  int64_t activation = 0;
  double alpha = 0;
  double beta = 0;

  portable::Activation function() const {
    return {static_cast<portable::ActivationKind>(activation), static_cast<float>(alpha), static_cast<float>(beta)};
  }
};

/// A convolution of two spatial axes (of one: the first has size 1), forward or transposed.
struct ConvSpec {
  int64_t transposed = 0;  // whether it is
  int64_t open = 0;        // whether calls may have other sizes of batch and axes, with no more elements
  int64_t batch = 1, groups = 1;
  int64_t in_channels = 1, out_channels = 1;  // of all groups
  int64_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1};
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  /// Of batch, channel, and the axes, in elements; 0 along an axis of one.
  int64_t in_stride[4] = {}, out_stride[4] = {};
  int64_t weight_type = static_cast<int64_t>(DType::kF32);  // or bf16, f16
  int64_t narrow_input = 0, narrow_out = 0;                 // whether they are bf16, as the weight is then, and not f32
  Finish finish;

  /// Multiplications and additions.
  double flops() const;
  bool channels_last() const;
};

/// out[rows, columns] = input[rows, depth] times weight[depth, columns].
struct LinearSpec {
  int64_t rows = 1, depth = 1, columns = 1;
  int64_t weight_type = static_cast<int64_t>(DType::kF32);  // or bf16, f16
  int64_t open = 0;                                         // whether calls may have fewer rows
  int64_t narrow_input = 0, narrow_out = 0;                 // whether they are bf16, as the weight is then, and not f32
  Finish finish;

  double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(depth) * static_cast<double>(columns);
  }
};

/// The weight of a call: dense, or packed as `layout` says.
struct Weight {
  const Tensor* tensor = nullptr;
  bool packed = false;
  DenseSizes dense;
  WeightLayout layout;  // of a packed one
};

/// Why a call is not for the fast engines; kTaken for one that is.
enum class Fit { kTaken, kShape, kWrong };

/// Reads the weight of a call, with its text. False when the text is none, or does not fit the tensor.
bool read_weight(const Tensor& weight, StringRef packing, int rank, Weight* result);

/// Gives `out` the sizes of the result.
Error resize_conv(KernelContext& context, const arguments::fused_conv_out& args, const Weight& weight);
Error resize_linear(KernelContext& context, const arguments::fused_linear_out& args, const Weight& weight);

/// Reads the arguments, of which `out` has the sizes of the result. kShape for what is right but not for engines (three
/// axes, other element types or layouts, no elements); kWrong for what the portable kernel refuses, which can say why.
Fit read_conv(const arguments::fused_conv_out& args, const Weight& weight, ConvSpec* spec);
Fit read_linear(const arguments::fused_linear_out& args, const Weight& weight, LinearSpec* spec);

}  // namespace berth::cpu
