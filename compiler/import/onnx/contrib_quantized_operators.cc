// Operators of com.microsoft between quantised tensors: each is dequantised, computed with and quantised again, as
// ONNX Runtime's page on its contrib operators defines them.
#include "compiler/import/lowering/pooling.h"
#include "compiler/import/onnx/integer_product.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"
#include "compiler/import/onnx/window.h"

namespace berth::onnx {
namespace {

/// Input `x` with one scale and one zero point (left out for 0) behind it, as f32.
ValueId real_input(NodeContext& n, size_t x) {
  const ValueId zero = n.has_input(x + 2) ? scalar_input(n, x + 2, "a zero point") : ValueId();
  return dequantized(n, n.input(x), scalar_input(n, x + 1, "a scale"), zero);
}

/// `y` in the scale that is input `scale` and the zero point behind it; `like` is of the result's type.
void give(NodeContext& n, ValueId y, size_t scale, ValueId like) {
  const ValueId zero = n.has_input(scale + 1) ? scalar_input(n, scale + 1, "a zero point") : ValueId();
  n.output(0, quantized(n, y, scalar_input(n, scale, "a scale"), zero, n.dtype(like)));
}

template <OpId id>
void import_binary(NodeContext& n) {
  give(n, n.op(id, {real_input(n, 0), real_input(n, 3)}), 6, n.input(0));
}

void import_sigmoid(NodeContext& n) { give(n, n.op(OpId::sigmoid_out, {real_input(n, 0)}), 3, n.input(0)); }

void import_quantized_leaky_relu(NodeContext& n) {
  give(n, n.op(OpId::leaky_relu_out, {real_input(n, 0), n.number("alpha", 0.01f)}), 3, n.input(0));
}

// Softmax of the last dimensions from 'axis' on where the model's opset flattens them, else along 'axis'.
void import_softmax(NodeContext& n) {
  const ValueId x = real_input(n, 0);
  const int axis = n.axis(n.integer("axis", -1), n.rank(x));
  if (!n.ok()) return;
  if (n.integer("opset", 13) >= 13 || axis == n.rank(x) - 1) {
    return give(n, n.op(OpId::softmax_out, {x, Dim(axis), false}), 3, n.input(0));
  }
  const std::vector<Dim> shape = n.shape(x);
  const ValueId rows = n.view(x, {n.product(shape, 0, axis), n.product(shape, axis, n.rank(x))});
  give(n, n.view(n.op(OpId::softmax_out, {rows, Dim(1), false}), shape), 3, n.input(0));
}

bool is_channels_last(NodeContext& n) {
  if (n.integer("channels_last", 0) == 0) return false;
  n.unsupported("channels_last; quantise without ONNX Runtime's layout optimisation");
  return true;
}

void import_quantized_average_pool(NodeContext& n) {
  if (is_channels_last(n)) return;
  const ValueId x = real_input(n, 0);
  const Window window = read_window(n, x, {});
  if (!n.ok()) return;
  give(n, lowering::average_pool(n, x, window, n.integer("count_include_pad", 0) != 0), 3, n.input(0));
}

void import_quantized_global_average_pool(NodeContext& n) {
  if (is_channels_last(n)) return;
  const ValueId x = real_input(n, 0);
  DimList axes;
  for (int i = 2; i < n.rank(x); ++i) axes.emplace_back(i);
  if (n.ok() && axes.empty()) return n.invalid("needs an input [N, C, spatial…], found " + n.type_text(x));
  give(n, n.op(OpId::mean_out, {x, axes, true}), 3, n.input(0));
}

// The result's scale and zero point, then each part with its own.
void import_quantized_concat(NodeContext& n) {
  if (n.input_count() % 3 != 2)
    return n.invalid("expected three inputs a part behind the result's scale and zero point");
  ValueList parts;
  for (size_t i = 2; i < n.input_count() && n.ok(); i += 3) parts.push_back(real_input(n, i));
  const int axis = n.axis(n.integer("axis", 0), n.ok() ? n.rank(parts[0]) : 1);
  give(n, n.op(OpId::cat_out, {parts, Dim(axis)}), 0, n.input(1));
}

ValueId matrix(NodeContext& n, size_t i, const char* transpose) {
  const ValueId x = n.input(i);
  if (n.ok() && n.rank(x) != 2) n.invalid("expected a matrix, found " + n.type_text(x));
  return n.integer(transpose, 0) != 0 ? n.permute(x, {1, 0}) : x;
}

/// Scale or zero point of a matrix's columns: one number, or one a column.
std::vector<Dim> of_columns(NodeContext& n, size_t i) {
  if (!n.has_input(i)) return {};
  const ValueId v = n.input(i);
  if (n.rank(v) == 1 && n.dim(v, 0) != Dim(1)) return n.shape(v);
  return {};
}

// a, b and c (i32, in steps of a_scale · b_scale · alpha); y without a scale stays f32.
void import_quantized_gemm(NodeContext& n) {
  const ValueId a = matrix(n, 0, "transA");
  const ValueId b = matrix(n, 3, "transB");
  const Centred left = centred(n, a, 2, {});
  const Centred right = centred(n, b, 5, of_columns(n, 5));
  const bool has_bias = n.has_input(6);
  ValueId sums = integer_matmul(n, left, right, !has_bias);
  if (has_bias) sums = n.cast(n.op(OpId::add_out, {sums, n.cast(n.input(6), DType::kI32)}), DType::kF32);
  ValueId scale = n.op(OpId::mul_out, {scalar_input(n, 1, "a_scale"), n.view(n.input(4), of_columns(n, 4))});
  const double alpha = n.number("alpha", 1);
  if (alpha != 1) scale = n.op(OpId::mul_Scalar_out, {scale, alpha});
  if (!n.has_input(7)) return n.output(0, n.op(OpId::mul_out, {sums, scale}));
  const ValueId factor = n.op(OpId::div_out, {scale, scalar_input(n, 7, "y_scale")});
  const ValueId zero = n.has_input(8) ? scalar_input(n, 8, "y_zero_point") : ValueId();
  n.output(0, requantized(n, sums, factor, zero, n.dtype(n.has_input(8) ? zero : a)));
}

// a and b, their scales and zero points, a bias in f32; the product in f32.
void import_matmul_integer_to_float(NodeContext& n) {
  const ValueId sums =
      integer_matmul(n, centred(n, n.input(0), 4, {}), centred(n, n.input(1), 5, of_columns(n, 5)), true);
  const ValueId scale = n.op(OpId::mul_out, {scalar_input(n, 2, "a_scale"), n.view(n.input(3), of_columns(n, 3))});
  const ValueId y = n.op(OpId::mul_out, {sums, scale});
  n.output(0, n.has_input(6) ? n.op(OpId::add_out, {y, n.input(6)}) : y);
}

// a is quantised by its own range; b, its scale, its zero point and a bias in f32.
void import_dynamic_quantize_matmul(NodeContext& n) {
  const DynamicallyQuantized q = dynamically_quantized(n, n.input(0));
  Centred left;
  left.integers = q.integers;
  left.value = n.op(OpId::sub_out, {n.cast(q.integers, DType::kF32), n.cast(q.zero_point, DType::kF32)});
  const ValueId sums = integer_matmul(n, left, centred(n, n.input(1), 3, of_columns(n, 3)), true);
  const ValueId y = n.op(OpId::mul_out, {sums, n.op(OpId::mul_out, {q.scale, n.view(n.input(2), of_columns(n, 2))})});
  n.output(0, n.has_input(4) ? n.op(OpId::add_out, {y, n.input(4)}) : y);
}

constexpr OperatorRow kContribQuantizedRows[] = {
    {"DequantizeLinear", 2, 3, import_dequantize_linear},
    {"DynamicQuantizeLSTM", 3, 12, import_dynamic_quantize_lstm},
    {"DynamicQuantizeMatMul", 3, 5, import_dynamic_quantize_matmul},
    {"MatMulIntegerToFloat", 4, 7, import_matmul_integer_to_float},
    {"QGemm", 2, 9, import_quantized_gemm},
    {"QLinearAdd", 2, 8, import_binary<OpId::add_out>},
    {"QLinearAveragePool", 2, 5, import_quantized_average_pool},
    {"QLinearConcat", 5, kVariadic, import_quantized_concat},
    {"QLinearGlobalAveragePool", 2, 5, import_quantized_global_average_pool},
    {"QLinearLeakyRelu", 2, 5, import_quantized_leaky_relu},
    {"QLinearMul", 2, 8, import_binary<OpId::mul_out>},
    {"QLinearSigmoid", 2, 5, import_sigmoid},
    {"QLinearSoftmax", 2, 5, import_softmax},
    {"QuantizeLinear", 2, 3, import_quantize_linear},
};

}  // namespace

OperatorTable contrib_quantized_operators() { return kContribQuantizedRows; }

}  // namespace berth::onnx
