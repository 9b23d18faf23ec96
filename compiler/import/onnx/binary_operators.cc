// Element-wise operators of two and more tensors, broadcast as NumPy does (ONNX since opset 7).
#include "compiler/import/onnx/operators.h"
#include "compiler/ir/arguments.h"

namespace berth::onnx {
namespace {

template <OpId id>
void import_two_inputs(NodeContext& n) {
  n.output(0, n.op(id, {n.input(0), n.input(1)}));
}

/// The matrix product `v` is, through at most one view: then a bias can join it.
const ir::Node* product_behind(const NodeContext& n, ValueId v) {
  const ir::Node* node = n.producer(v);
  if (node != nullptr && node->is(OpId::view_copy_out)) {
    const ValueId* inner = std::get_if<ValueId>(&node->args[arg::view_copy_out::self]);
    node = inner == nullptr ? nullptr : n.producer(*inner);
  }
  return node != nullptr && node->is(OpId::mm_out) ? node : nullptr;
}

/// MatMul + Add of a bias vector as one addmm. The product that was made for MatMul is dead then.
bool add_bias(NodeContext& n, size_t product, size_t bias) {
  const ValueId y = n.input(product);
  const ValueId b = n.input(bias);
  if (!n.ok() || n.uses(n.node().inputs[product]) != 1 || n.rank(b) != 1 || n.rank(y) < 1) return false;
  const ir::Node* node = product_behind(n, y);
  if (node == nullptr || n.dim(b, 0) != n.dim(y, n.rank(y) - 1) || n.dtype(b) != n.dtype(y)) return false;
  const Argument left = node->args[arg::mm_out::self];
  const Argument right = node->args[arg::mm_out::mat2];
  n.output(0, n.view(n.op(OpId::addmm_out, {b, left, right}), n.shape(y)));
  return true;
}

void import_add(NodeContext& n) {
  if (add_bias(n, 0, 1) || add_bias(n, 1, 0)) return;
  import_two_inputs<OpId::add_out>(n);
}

// Integers round towards zero.
void import_div(NodeContext& n) {
  const ValueId a = n.input(0);
  if (is_floating(n.dtype(a))) return import_two_inputs<OpId::div_out>(n);
  n.output(0, n.op(OpId::div_out_mode, {a, n.input(1), std::string("trunc")}));
}

// With fmod the result has the sign of the dividend, otherwise that of the divisor: a - b * floor(a / b), because
// ExecuTorch's remainder takes the dividend's sign for integers. Wrapped products cancel, so no width is too small.
void import_mod(NodeContext& n) {
  if (n.integer("fmod", 0) != 0) return import_two_inputs<OpId::fmod_Tensor_out>(n);
  const ValueId a = n.input(0);
  const ValueId b = n.input(1);
  const DType type = n.dtype(a);
  const bool is_signed = type == DType::kI8 || type == DType::kI16 || type == DType::kI32 || type == DType::kI64;
  if (!is_signed) return import_two_inputs<OpId::remainder_Tensor_out>(n);
  const ValueId quotient = n.op(OpId::div_out_mode, {a, b, std::string("floor")});
  n.output(0, n.op(OpId::sub_out, {a, n.op(OpId::mul_out, {quotient, b})}));
}

// The result has the base's type, whatever the exponent's.
void import_pow(NodeContext& n) {
  const ValueId base = n.input(0);
  const std::optional<Known> exponent = n.known(1);
  if (exponent.has_value() && exponent->is_constant() && exponent->elements.size() == 1 &&
      static_cast<int>(exponent->shape.size()) <= n.rank(base)) {
    const Number e = exponent->elements[0];
    const bool squares = exponent->floating() ? e.real == 2 : e.whole == Dim(2);
    if (squares) return n.output(0, n.op(OpId::mul_out, {base, base}));
    const Argument scalar = exponent->floating() ? Argument(e.real) : Argument(e.whole);
    return n.output(0, n.cast(n.op(OpId::pow_Tensor_Scalar_out, {base, scalar}), n.dtype(base)));
  }
  n.output(0, n.cast(n.op(OpId::pow_Tensor_Tensor_out, {base, n.input(1)}), n.dtype(base)));
}

void import_prelu(NodeContext& n) {
  const ValueId x = n.input(0);
  const std::optional<Known> slope = n.known(1);
  if (slope.has_value() && slope->floating() && slope->elements.size() == 1 &&
      static_cast<int>(slope->shape.size()) <= n.rank(x)) {
    return n.output(0, n.op(OpId::leaky_relu_out, {x, slope->elements[0].real}));
  }
  // 0 stays 0 where the slope is infinite.
  const ValueId not_negative = n.op(OpId::ge_Scalar_out, {x, Dim(0)});
  n.output(0, n.op(OpId::where_self_out, {not_negative, x, n.op(OpId::mul_out, {x, n.input(1)})}));
}

ValueId chain(NodeContext& n, OpId id) {
  ValueId result = n.input(0);
  for (size_t i = 1; i < n.input_count(); ++i) result = n.op(id, {result, n.input(i)});
  return result;
}

template <OpId id>
void import_chain(NodeContext& n) {
  if (n.input_count() == 1) return n.forward(0, 0);
  n.output(0, chain(n, id));
}

void import_mean_of_inputs(NodeContext& n) {
  if (n.input_count() == 1) return n.forward(0, 0);
  n.output(0, n.op(OpId::mul_Scalar_out, {chain(n, OpId::add_out), 1.0 / static_cast<double>(n.input_count())}));
}

void import_bit_shift(NodeContext& n) {
  const std::string direction = n.text("direction", "");
  if (direction == "LEFT") return import_two_inputs<OpId::bitwise_left_shift_Tensor_out>(n);
  if (direction == "RIGHT") return import_two_inputs<OpId::bitwise_right_shift_Tensor_out>(n);
  n.invalid("attribute 'direction' must be LEFT or RIGHT");
}

void import_where(NodeContext& n) { n.output(0, n.op(OpId::where_self_out, {n.input(0), n.input(1), n.input(2)})); }

constexpr OperatorRow kBinaryRows[] = {
    {"Add", 2, 2, import_add},
    {"And", 2, 2, import_two_inputs<OpId::logical_and_out>},
    {"BitShift", 2, 2, import_bit_shift},
    {"BitwiseAnd", 2, 2, import_two_inputs<OpId::bitwise_and_Tensor_out>},
    {"BitwiseOr", 2, 2, import_two_inputs<OpId::bitwise_or_Tensor_out>},
    {"BitwiseXor", 2, 2, import_two_inputs<OpId::bitwise_xor_Tensor_out>},
    {"Div", 2, 2, import_div},
    {"Equal", 2, 2, import_two_inputs<OpId::eq_Tensor_out>},
    {"Greater", 2, 2, import_two_inputs<OpId::gt_Tensor_out>},
    {"GreaterOrEqual", 2, 2, import_two_inputs<OpId::ge_Tensor_out>},
    {"Less", 2, 2, import_two_inputs<OpId::lt_Tensor_out>},
    {"LessOrEqual", 2, 2, import_two_inputs<OpId::le_Tensor_out>},
    {"Max", 1, kVariadic, import_chain<OpId::maximum_out>},
    {"Mean", 1, kVariadic, import_mean_of_inputs},
    {"Min", 1, kVariadic, import_chain<OpId::minimum_out>},
    {"Mod", 2, 2, import_mod},
    {"Mul", 2, 2, import_two_inputs<OpId::mul_out>},
    {"Or", 2, 2, import_two_inputs<OpId::logical_or_out>},
    {"PRelu", 2, 2, import_prelu},
    {"Pow", 2, 2, import_pow},
    {"Sub", 2, 2, import_two_inputs<OpId::sub_out>},
    {"Sum", 1, kVariadic, import_chain<OpId::add_out>},
    {"Where", 3, 3, import_where},
    {"Xor", 2, 2, import_two_inputs<OpId::logical_xor_out>},
};

}  // namespace

OperatorTable binary_operators() { return kBinaryRows; }

}  // namespace berth::onnx
