// Quantisation as arithmetic on numbers and their scales: fusions find the pairs again.
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"

namespace berth::onnx {

void import_quantize_linear(NodeContext& n) {
  const int64_t named = n.integer("output_dtype", 0);
  DType to = n.has_input(2) ? n.dtype(n.input(2)) : DType::kU8;
  if (named != 0 && !dtype_of(static_cast<int32_t>(named), &to)) {
    return n.unsupported("attribute 'output_dtype' names a type that no operator takes");
  }
  const ValueId x = n.input(0);
  const ValueId scale = along_axis(n, n.input(1), x, 1);
  const ValueId zero_point = n.has_input(2) ? along_axis(n, n.input(2), x, 1) : ValueId();
  n.output(0, quantized(n, x, scale, zero_point, to));
}

void import_dequantize_linear(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId scale = along_axis(n, n.input(1), x, 1);
  const ValueId y = dequantized(n, x, scale, n.has_input(2) ? along_axis(n, n.input(2), x, 1) : ValueId());
  DType named = n.dtype(y);
  if (n.integer("output_dtype", 0) != 0 && !dtype_of(static_cast<int32_t>(n.integer("output_dtype", 0)), &named)) {
    return n.unsupported("attribute 'output_dtype' names a type that no operator takes");
  }
  n.output(0, n.cast(y, named));
}

namespace {

// The range from the smallest to the largest element, with 0 in it, in 255 steps. A tensor of zeros has no range: the
// definition divides by 0 there; this takes steps of 1, as ONNX Runtime does.
void import_dynamic_quantize_linear(NodeContext& n) {
  const ValueId x = n.input(0);
  if (n.ok() && n.dtype(x) != DType::kF32) return n.invalid("expected f32, found " + n.type_text(x));
  const ValueId low = n.op(OpId::clamp_out, {n.op(OpId::amin_out, {x, DimList{}, false}), None(), 0.0});
  const ValueId high = n.op(OpId::clamp_out, {n.op(OpId::amax_out, {x, DimList{}, false}), 0.0, None()});
  const ValueId range = n.op(OpId::sub_out, {high, low});
  const ValueId steps = n.op(OpId::div_Scalar_out, {range, 255.0});
  const ValueId empty = n.op(OpId::eq_Scalar_out, {range, 0.0});
  const ValueId scale = n.op(OpId::masked_fill_Scalar_out, {steps, empty, 1.0});
  const ValueId start = n.op(OpId::neg_out, {n.op(OpId::div_out, {low, scale})});
  const ValueId held = n.op(OpId::clamp_out, {start, 0.0, 255.0});
  const ValueId zero_point = n.cast(n.op(OpId::round_out, {held}), DType::kU8);
  n.output(0, quantized(n, x, scale, zero_point, DType::kU8));
  n.output(1, scale);
  n.output(2, zero_point);
}

constexpr OperatorRow kQuantizeRows[] = {
    {"DequantizeLinear", 2, 3, import_dequantize_linear},
    {"DynamicQuantizeLinear", 1, 1, import_dynamic_quantize_linear},
    {"QuantizeLinear", 2, 3, import_quantize_linear},
};

}  // namespace

OperatorTable quantize_operators() { return kQuantizeRows; }

}  // namespace berth::onnx
