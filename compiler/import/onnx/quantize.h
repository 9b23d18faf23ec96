// Quantised numbers: q stands for (q - zero point) · scale. What the operators that quantise, and those that compute
// with quantised tensors, share.
//
// Source of the arithmetic: the pages of ONNX on QuantizeLinear, DequantizeLinear, QLinearConv and QLinearMatMul.
#pragma once

#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

struct Limits {
  int64_t low;
  int64_t high;
};

/// The range of the integers of 2 to 16 bits; false for every other type.
bool limits_of(DType dtype, Limits* out);

/// `parameter` (a scale or a zero point) in the shape that multiplies `x`: one number, one a slice of attribute 'axis'
/// (`axis` where the node does not say it), or one a block of attribute 'block_size' elements along it.
ValueId along_axis(NodeContext& n, ValueId parameter, ValueId x, int64_t axis);

/// `x`, of any real or narrow type, as the nearest of a narrow float: saturated and rounded as the node's attributes
/// 'saturate' and 'round_mode' say. ONNX's page on Cast has the tables.
ValueId cast_narrow(NodeContext& n, ValueId x, DType to);

/// saturate(round(x · factor) + zero point) as `to`, halves rounded to even; `x` is f32, `factor` and `zero_point` (of
/// any type; none for 0) broadcast to it. To a narrow float: saturate(x · factor + zero point), rounded to its
/// elements.
ValueId requantized(NodeContext& n, ValueId x, ValueId factor, ValueId zero_point, DType to);
/// The same of x / scale, a quotient of the type that attribute 'precision' names, f32 without.
ValueId quantized(NodeContext& n, ValueId x, ValueId scale, ValueId zero_point, DType to);
/// (x - zero point) · scale in the type of `scale` (f32 for f8e8m0); both broadcast to `x`, the zero point may be none.
ValueId dequantized(NodeContext& n, ValueId x, ValueId scale, ValueId zero_point);

/// What DynamicQuantizeLinear makes of `x`, f32: the range from its smallest to its largest element, with 0 in it, in
/// 255 steps. A tensor of zeros has no range: the definition divides by 0 there; this takes steps of 1, as ONNX Runtime
/// does.
struct DynamicallyQuantized {
  ValueId integers;    // u8
  ValueId scale;       // f32 []
  ValueId zero_point;  // u8 []
};
DynamicallyQuantized dynamically_quantized(NodeContext& n, ValueId x);

/// Input `i` as one number: a tensor of one element, as a 0-d one.
ValueId scalar_input(NodeContext& n, size_t i, const char* what);
/// Input `i`, or none where it is left out.
ValueId optional_input(NodeContext& n, size_t i);

}  // namespace berth::onnx
