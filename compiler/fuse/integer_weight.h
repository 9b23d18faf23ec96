// Weights that a model widens before it multiplies with them: (q - zero point) · scale of integers of at most 8 bits.
//
// Models say it in many ways: ONNX's DequantizeLinear with scales for the tensor, a channel or a block, MatMulNBits
// with two numbers in a byte, a cast and a product, quantized_decomposed::dequantize_…, what torchao exports. What
// stands behind the product or between, such as views, transpositions and slices, moves elements alone: it is done to
// the integers, the scales and the zero points each, at compile time. What comes out is read off the numbers.
#pragma once

#include <optional>
#include <vector>

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// A weight as berth::narrow_linear takes it (kernels/portable/fused_narrow_linear.cc), without a packing.
struct IntegerWeight {
  int64_t depth = 0, columns = 0;
  int64_t bits = 8, block = 1;
  std::vector<uint8_t> bytes;
  /// A matrix of [blocks, columns]; 1 stands for all of either.
  struct Numbers {
    int64_t rows = 1, columns = 1;
    std::vector<float> values;
  };
  Numbers scales;
  std::optional<Numbers> zero_points;

  /// Whether the zero points are whole and in the range of the elements, so that a byte holds each.
  bool has_whole_zeros() const;
};

/// `value`, a matrix of f32, bf16 or f16, if it is such a weight. In 16 bits, what the model rounds between is not
/// rounded.
std::optional<IntegerWeight> read_integer_weight(Context& context, ir::ValueId value);

/// The weight of a quantized_decomposed::mixed_linear.
std::optional<IntegerWeight> read_mixed_weight(Context& context, const ir::Node& node);

}  // namespace berth::fuse
