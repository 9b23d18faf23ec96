// Convolutions and matrix products of quantised tensors: sums of integers, and what they are in the result's scale.
#include "compiler/import/onnx/integer_product.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"

namespace berth::onnx {
namespace {

/// The shape in which parameter `i` meets a matrix of rank `rank`: one number; one a row or column; or as it is.
std::vector<Dim> beside_matrix(NodeContext& n, size_t i, int rank, bool rows) {
  if (!n.has_input(i)) return {};
  const ValueId parameter = n.input(i);
  if (n.rank(parameter) > rank)
    n.invalid("a parameter " + n.type_text(parameter) + " has more dimensions than its matrix");
  if (n.rank(parameter) != 1) return n.shape(parameter);
  if (n.dim(parameter, 0) == Dim(1)) return {};
  if (rows && rank > 1) return {n.dim(parameter, 0), Dim(1)};
  return n.shape(parameter);
}

ValueId parameter(NodeContext& n, size_t i, int rank, bool rows) {
  return n.view(n.input(i), beside_matrix(n, i, rank, rows));
}

void import_matmul_integer(NodeContext& n) {
  const ValueId a = n.input(0);
  const ValueId b = n.input(1);
  const Centred left = centred(n, a, 2, beside_matrix(n, 2, n.rank(a), true));
  const Centred right = centred(n, b, 3, beside_matrix(n, 3, n.rank(b), false));
  n.output(0, integer_matmul(n, left, right, false));
}

// a, its scale and zero point, b, its, the result's.
void import_qlinear_matmul(NodeContext& n) {
  const ValueId a = n.input(0);
  const ValueId b = n.input(3);
  const int rank_a = n.rank(a);
  const int rank_b = n.rank(b);
  const Centred left = centred(n, a, 2, beside_matrix(n, 2, rank_a, true));
  const Centred right = centred(n, b, 5, beside_matrix(n, 5, rank_b, false));
  const ValueId sums = integer_matmul(n, left, right, true);
  const ValueId product = n.op(OpId::mul_out, {n.cast(parameter(n, 1, rank_a, true), DType::kF32),
                                               n.cast(parameter(n, 4, rank_b, false), DType::kF32)});
  const ValueId factor = n.op(OpId::div_out, {product, n.cast(parameter(n, 6, rank_a, true), DType::kF32)});
  const DType to = n.dtype(n.input(7));
  n.output(0, requantized(n, sums, factor, parameter(n, 7, rank_a, true), to));
}

/// The shape in which parameter `i` meets a weight or a result whose dimension `axis` are the output channels.
std::vector<Dim> beside_channels(NodeContext& n, size_t i, int rank, size_t axis) {
  if (!n.has_input(i)) return {};
  const ValueId v = n.input(i);
  if (n.rank(v) == 0 || (n.rank(v) == 1 && n.dim(v, 0) == Dim(1))) return {};
  if (n.rank(v) != 1 || rank < 3) n.invalid("expected one number a channel, found " + n.type_text(v));
  std::vector<Dim> shape(rank < 3 ? 3 : rank, Dim(1));
  shape[axis] = n.dim(v, 0);
  return shape;
}

void import_conv_integer(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId weight = n.input(1);
  const Centred left = centred(n, x, 2, {});
  const Centred right = centred(n, weight, 3, beside_channels(n, 3, n.rank(weight), 0));
  n.output(0, integer_convolution(n, left, right, {}, false));
}

// x, its scale and zero point, the weight, its, the result's, the bias in steps of x_scale · w_scale.
void import_qlinear_conv(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId weight = n.input(3);
  const int rank = n.rank(weight);
  const Centred left = centred(n, x, 2, {});
  const Centred right = centred(n, weight, 5, beside_channels(n, 5, rank, 0));
  const ValueId sums = integer_convolution(n, left, right, optional_input(n, 8), true);
  const ValueId w_scale = n.view(n.input(4), beside_channels(n, 4, rank, 1));
  const ValueId product = n.op(OpId::mul_out, {scalar_input(n, 1, "x_scale"), w_scale});
  const ValueId factor = n.op(OpId::div_out, {product, scalar_input(n, 6, "y_scale")});
  const DType to = n.dtype(n.input(7));
  n.output(0, requantized(n, sums, factor, scalar_input(n, 7, "y_zero_point"), to));
}

constexpr OperatorRow kIntegerRows[] = {
    {"ConvInteger", 2, 4, import_conv_integer},
    {"MatMulInteger", 2, 4, import_matmul_integer},
    {"QLinearConv", 8, 9, import_qlinear_conv},
    {"QLinearMatMul", 8, 8, import_qlinear_matmul},
};

}  // namespace

OperatorTable integer_operators() { return kIntegerRows; }

}  // namespace berth::onnx
