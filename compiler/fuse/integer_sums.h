// Sums of products of integers, as the ONNX importer computes them exactly in floats (import/onnx/integer_product.h):
//
//     convolution(x - zero, w - zero), or mm; the same over slices of both, cast to i32 and added up; or in f64
//     then, as i32, + bias
//     then, as f32
#pragma once

#include "compiler/fuse/quantized_product.h"

namespace berth::fuse {

struct IntegerSums {
  ProductInput input;          // with a scale of 1
  DequantizedConstant weight;  // with a scale of 1
  ir::NodeId product;          // a convolution or a matrix product of both, or of parts of them
  ir::ValueId bias;            // i32, constant; or invalid
};

/// What `value`, f32, is the sums of; nothing where it is not that, or others read what is summed.
std::optional<IntegerSums> integer_sums(const Context& context, ir::ValueId value);

}  // namespace berth::fuse
