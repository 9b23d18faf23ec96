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

void import_dynamic_quantize_linear(NodeContext& n) {
  const ValueId x = n.input(0);
  if (n.ok() && n.dtype(x) != DType::kF32) return n.invalid("expected f32, found " + n.type_text(x));
  const DynamicallyQuantized q = dynamically_quantized(n, x);
  n.output(0, q.integers);
  n.output(1, q.scale);
  n.output(2, q.zero_point);
}

constexpr OperatorRow kQuantizeRows[] = {
    {"DequantizeLinear", 2, 3, import_dequantize_linear},
    {"DynamicQuantizeLinear", 1, 1, import_dynamic_quantize_linear},
    {"QuantizeLinear", 2, 3, import_quantize_linear},
};

}  // namespace

OperatorTable quantize_operators() { return kQuantizeRows; }

}  // namespace berth::onnx
