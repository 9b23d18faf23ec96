#include "compiler/fuse/quantized_pairs.h"

#include <algorithm>
#include <cmath>

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::Node;
using ir::OpId;
using ir::ValueId;

const ir::TensorType* tensor(const Context& context, ValueId value) {
  return value.valid() ? context.method().value(value).tensor() : nullptr;
}

bool is_of(const Context& context, ValueId value, DType dtype) {
  const ir::TensorType* type = tensor(context, value);
  return type != nullptr && type->dtype == dtype;
}

bool is_cast(const Node& node) { return node.is(OpId::to_dim_order_copy_out) || node.is(OpId::to_copy_out); }

// The constant that `value` is, or that it is a cast of. Folding leaves casts of integers that stand for weights.
const ir::Constant* constant_behind(const Context& context, ValueId value) {
  if (const ir::Constant* constant = context.constant(Argument(value))) return constant;
  const Node* cast = context.maker(value);
  if (cast == nullptr || !is_cast(*cast)) return nullptr;
  const ir::Constant* constant = context.constant(cast->args[arg::to_dim_order_copy_out::self]);
  return constant != nullptr && is_integer(constant->type.dtype) ? constant : nullptr;
}

std::vector<double> numbers_of(const ir::Constant& constant) {
  const DType dtype = constant.type.dtype;
  const size_t size = element_size(dtype);
  const size_t count = constant.blob.size() / size;
  if (constant.blob.is_splat()) {
    return std::vector<double>(count, passes::element_number(dtype, constant.blob.element(), 0));
  }
  std::vector<double> result;
  const std::vector<uint8_t> bytes = constant.blob.to_vector();
  for (size_t i = 0; i < count; ++i) result.push_back(passes::element_number(dtype, bytes, i));
  return result;
}

// The one dimension of `shape` that is not 1; -1 where all are, -2 where there are several.
int only_dim(const std::vector<Dim>& shape) {
  int found = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == Dim(1)) continue;
    if (found >= 0) return -2;
    found = static_cast<int>(i);
  }
  return found;
}

// One number a slice along dimension `axis` of `beside`.
std::optional<Parameter> along(const Context& context, ValueId value, const ir::TensorType& beside, int64_t axis) {
  const ir::Constant* constant = constant_behind(context, value);
  if (constant == nullptr || !is_real(constant->type.dtype)) return std::nullopt;
  Parameter result;
  result.known = numbers_of(*constant);
  if (result.known.size() == 1) return result;
  if (axis < 0) axis += beside.rank();
  if (axis < 0 || axis >= beside.rank() || beside.shape[axis] != Dim(static_cast<int64_t>(result.known.size()))) {
    return std::nullopt;
  }
  result.axis = static_cast<int>(axis);
  return result;
}

// One number for all.
std::optional<Parameter> one_number(const Context& context, const Argument& argument) {
  const ValueId* value = std::get_if<ValueId>(&argument);
  const ir::TensorType* type = value == nullptr ? nullptr : tensor(context, *value);
  if (type == nullptr) return broadcast(context, argument, ir::TensorType{});
  return only_dim(type->shape) == -1 ? broadcast(context, argument, *type) : std::nullopt;
}

// Of dequantize_per_token: one a row.
std::optional<Parameter> of_rows(const Context& context, ValueId value, const ir::TensorType& beside) {
  const ir::TensorType* type = tensor(context, value);
  if (type == nullptr || constant_behind(context, value) != nullptr) return broadcast(context, value, beside);
  const bool rows = is_integer(type->dtype) || is_floating(type->dtype);
  if (!rows || type->rank() != beside.rank() || type->rank() < 1 || type->shape.back() != Dim(1)) return std::nullopt;
  if (!std::equal(type->shape.begin(), type->shape.end() - 1, beside.shape.begin())) return std::nullopt;
  Parameter result;
  result.value = value;
  result.axis = only_dim(type->shape) == -1 ? -1 : Parameter::kRows;
  return result;
}

std::optional<Dequantized> joined(ValueId integers, std::optional<Parameter> scale, std::optional<Parameter> zero) {
  if (!scale || !zero) return std::nullopt;
  return Dequantized{integers, std::move(*scale), std::move(*zero)};
}

bool gives_f32(const Context& context, const Node& node) { return is_of(context, node.results[0], DType::kF32); }

std::optional<Dequantized> from_operator(const Context& context, const Node& node) {
  const ValueId input = value_argument(node, 0);
  if (!gives_f32(context, node) || !input.valid()) return std::nullopt;
  const ir::TensorType& type = context.type(input);
  const ValueId zero = value_argument(node, 2);
  switch (node.op->id) {
    case OpId::dequantize_per_tensor_out:
    case OpId::dequantize_per_tensor_Tensor_out:
      return joined(input, one_number(context, node.args[arg::dequantize_per_tensor_out::scale]),
                    one_number(context, node.args[arg::dequantize_per_tensor_out::zero_point]));
    case OpId::dequantize_per_channel_out: {
      const Dim axis = std::get<Dim>(node.args[arg::dequantize_per_channel_out::axis]);
      if (!axis.is_constant()) return std::nullopt;
      const auto zeros = zero.valid() ? along(context, zero, type, axis.value) : Parameter::of(0);
      return joined(input, along(context, value_argument(node, 1), type, axis.value), zeros);
    }
    case OpId::dequantize_per_token_out:
      return joined(input, of_rows(context, value_argument(node, 1), type), of_rows(context, zero, type));
    default: return std::nullopt;
  }
}

// cast(q) - zero point, or cast(q).
std::optional<Dequantized> centred(const Context& context, ValueId value) {
  const Node* node = context.maker(value);
  if (node == nullptr || !is_of(context, value, DType::kF32)) return std::nullopt;
  Argument zero = 0.0;
  ValueId cast = value;
  if (node->is(OpId::sub_out) || node->is(OpId::sub_Scalar_out)) {
    if (context.number(node->args[arg::sub_out::alpha]) != 1.0) return std::nullopt;
    cast = value_argument(*node, 0);
    zero = node->args[arg::sub_out::other];
  }
  const ValueId integers = cast.valid() ? cast_input(context, cast, DType::kF32) : ValueId{};
  if (!integers.valid() || context.type(integers).shape != context.type(value).shape) return std::nullopt;
  const DType dtype = context.type(integers).dtype;
  if (!is_integer(dtype) && !is_narrow_integer(dtype)) return std::nullopt;
  return joined(integers, Parameter::of(1), broadcast(context, zero, context.type(integers)));
}

std::optional<Dequantized> from_arithmetic(const Context& context, ValueId value) {
  const Node* node = context.maker(value);
  const bool tensors = node->is(OpId::mul_out);
  if (!tensors && !node->is(OpId::mul_Scalar_out)) return centred(context, value);
  for (size_t k = 0; k < (tensors ? 2u : 1u); ++k) {
    const ValueId numbers = value_argument(*node, k);
    if (!numbers.valid() || context.type(numbers).shape != context.type(value).shape) continue;
    auto result = centred(context, numbers);
    if (!result) continue;
    auto scale = broadcast(context, node->args[1 - k], context.type(result->integers));
    const ValueId made = value_argument(*node, 1 - k);
    if (!scale || (made.valid() && !is_of(context, made, DType::kF32))) continue;
    result->scale = std::move(*scale);
    return result;
  }
  return std::nullopt;
}

// Where dimension `axis` of `from` is in `to`, which has the same elements in the same order; -1: nowhere.
int viewed_axis(const std::vector<Dim>& from, const std::vector<Dim>& to, int axis) {
  int64_t before = 1;
  for (int i = 0; i < axis; ++i) before *= from[i].value;
  int64_t at = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (at == before && to[i] == from[axis]) return static_cast<int>(i);
    at *= to[i].value;
  }
  return -1;
}

// The order of dimensions that a permutation asks for; empty where `node` is none.
std::vector<int> permutation(const Node& node, int rank) {
  std::vector<int> order(rank);
  for (int i = 0; i < rank; ++i) order[i] = i;
  const auto wrapped = [&](Dim d) { return static_cast<int>(d.value < 0 ? d.value + rank : d.value); };
  if (node.is(OpId::permute_copy_out)) {
    const auto& dims = std::get<ir::DimList>(node.args[arg::permute_copy_out::dims]);
    for (int i = 0; i < rank; ++i) order[i] = wrapped(dims[i]);
  } else if (node.is(OpId::t_copy_out)) {
    std::reverse(order.begin(), order.end());
  } else if (node.is(OpId::transpose_copy_int_out)) {
    std::swap(order[wrapped(std::get<Dim>(node.args[arg::transpose_copy_int_out::dim0]))],
              order[wrapped(std::get<Dim>(node.args[arg::transpose_copy_int_out::dim1]))]);
  } else {
    return {};
  }
  return order;
}

std::vector<uint8_t> permuted(const std::vector<uint8_t>& from, const std::vector<Dim>& shape,
                              const std::vector<int>& order) {
  const size_t rank = shape.size();
  std::vector<int64_t> stride(rank, 1);
  for (size_t i = rank; i-- > 1;) stride[i - 1] = stride[i] * shape[i].value;
  std::vector<uint8_t> to(from.size());
  std::vector<int64_t> at(rank, 0);
  int64_t source = 0;
  for (uint8_t& byte : to) {
    byte = from[source];
    for (size_t i = rank; i-- > 0;) {
      source += stride[order[i]];
      if (++at[i] < shape[order[i]].value) break;
      source -= at[i] * stride[order[i]];
      at[i] = 0;
    }
  }
  return to;
}

void turn_axis(Parameter* parameter, const std::vector<int>& order) {
  if (parameter->axis < 0) return;
  parameter->axis = static_cast<int>(std::find(order.begin(), order.end(), parameter->axis) - order.begin());
}

bool view_axis(Parameter* parameter, const std::vector<Dim>& from, const std::vector<Dim>& to) {
  if (parameter->axis < 0) return true;
  parameter->axis = viewed_axis(from, to, parameter->axis);
  return parameter->axis >= 0;
}

// More than passes leave behind each other.
constexpr size_t kMaxTurns = 16;

// Does to `constant` what the node of `value` does to its numbers.
bool turn(const Context& context, ValueId value, DequantizedConstant* constant) {
  const std::vector<int> order = permutation(*context.maker(value), constant->type.rank());
  const std::vector<Dim>& shape = context.type(value).shape;
  if (order.empty()) {
    if (!view_axis(&constant->scale, constant->type.shape, shape)) return false;
    if (!view_axis(&constant->zero_point, constant->type.shape, shape)) return false;
  } else {
    constant->bytes = permuted(constant->bytes, constant->type.shape, order);
    turn_axis(&constant->scale, order);
    turn_axis(&constant->zero_point, order);
  }
  constant->type.shape = shape;
  constant->type.dim_order.clear();
  constant->integers = ValueId{};
  return true;
}

// cast(clamp(…)): what is clamped, and the limits.
bool read_limits(const Context& context, const Node& cast, DType dtype, Quantized* out) {
  const Node* clamp = context.maker(cast, 0);
  if (clamp == nullptr || !clamp->is(OpId::clamp_out)) return false;
  const auto low = context.number(clamp->args[arg::clamp_out::min]);
  const auto high = context.number(clamp->args[arg::clamp_out::max]);
  const double least = dtype == DType::kI8 ? INT8_MIN : dtype == DType::kI16 ? INT16_MIN : 0;
  const double most = dtype == DType::kI8    ? INT8_MAX
                      : dtype == DType::kU8  ? UINT8_MAX
                      : dtype == DType::kI16 ? INT16_MAX
                                             : UINT16_MAX;
  if (!low || !high || !(*low >= least && *high <= most && *low <= *high)) return false;
  if (*low != std::floor(*low) || *high != std::floor(*high)) return false;
  out->low = static_cast<int64_t>(*low);
  out->high = static_cast<int64_t>(*high);
  out->input = value_argument(*clamp, 0);
  return is_of(context, out->input, DType::kF32);
}

// round(…) + zero point.
bool read_zero_point(const Context& context, const ir::TensorType& type, Quantized* out) {
  const Node* sum = context.maker(out->input);
  if (sum == nullptr) return false;
  out->zero_point = Parameter::of(0);
  if (sum->is(OpId::add_out) || sum->is(OpId::add_Scalar_out)) {
    if (context.number(sum->args[arg::add_out::alpha]) != 1.0) return false;
    auto zero = broadcast(context, sum->args[arg::add_out::other], type);
    if (!zero) return false;
    out->zero_point = std::move(*zero);
    out->input = value_argument(*sum, 0);
    sum = context.maker(out->input);
  }
  if (sum == nullptr || !sum->is(OpId::round_out)) return false;
  out->input = value_argument(*sum, 0);
  return is_of(context, out->input, DType::kF32);
}

// x / scale, x * factor, or x.
bool read_scale(const Context& context, const ir::TensorType& type, Quantized* out) {
  out->scale = Parameter::of(1);
  const Node* node = context.maker(out->input);
  if (node == nullptr) return true;
  const bool quotient = node->is(OpId::div_out) || node->is(OpId::div_Scalar_out);
  const bool product = node->is(OpId::mul_out) || node->is(OpId::mul_Scalar_out);
  if (!quotient && !product) return true;
  const ValueId x = value_argument(*node, 0);
  const ValueId factor = value_argument(*node, 1);
  if (!is_of(context, x, DType::kF32) || (factor.valid() && !is_of(context, factor, DType::kF32))) return true;
  auto scale =
      context.type(x).shape == type.shape ? broadcast(context, node->args[arg::mul_out::other], type) : std::nullopt;
  // A product of two tensors that is rounded as it is has a scale of 1.
  if (!scale || (product && scale->known.empty())) return true;
  out->scale = std::move(*scale);
  out->rounding = quotient ? Quantized::Rounding::kDivide : Quantized::Rounding::kFactor;
  out->input = x;
  return true;
}

std::optional<Quantized> by_operator(const Context& context, const Node& node) {
  Quantized result;
  result.rounding = Quantized::Rounding::kInverse;
  result.input = value_argument(node, 0);
  if (!is_of(context, result.input, DType::kF32)) return std::nullopt;
  const ir::TensorType& type = context.type(node.results[0]);
  result.dtype = type.dtype;
  std::optional<Parameter> scale;
  std::optional<Parameter> zero;
  size_t limits = 3;
  switch (node.op->id) {
    case OpId::quantize_per_tensor_out:
    case OpId::quantize_per_tensor_Tensor_out:
      scale = one_number(context, node.args[arg::quantize_per_tensor_out::scale]);
      zero = one_number(context, node.args[arg::quantize_per_tensor_out::zero_point]);
      break;
    case OpId::quantize_per_channel_out: {
      const Dim axis = std::get<Dim>(node.args[arg::quantize_per_channel_out::axis]);
      if (!axis.is_constant()) return std::nullopt;
      scale = along(context, value_argument(node, 1), type, axis.value);
      zero = along(context, value_argument(node, 2), type, axis.value);
      limits = 4;
      break;
    }
    default: return std::nullopt;
  }
  const auto low = context.number(node.args[limits]);
  const auto high = context.number(node.args[limits + 1]);
  if (!scale || !zero || !low || !high) return std::nullopt;
  result.scale = std::move(*scale);
  result.zero_point = std::move(*zero);
  result.low = static_cast<int64_t>(*low);
  result.high = static_cast<int64_t>(*high);
  return result;
}

}  // namespace

std::optional<Parameter> broadcast(const Context& context, const Argument& argument, const ir::TensorType& beside) {
  const ValueId* value = std::get_if<ValueId>(&argument);
  if (value == nullptr) {
    const auto number = context.number(argument);
    return number ? std::optional<Parameter>(Parameter::of(*number)) : std::nullopt;
  }
  const ir::TensorType* type = tensor(context, *value);
  if (type == nullptr || !is_real(type->dtype) || type->rank() > beside.rank()) return std::nullopt;
  const int dim = only_dim(type->shape);
  if (constant_behind(context, *value) != nullptr) {
    return dim == -2 ? std::nullopt : along(context, *value, beside, dim + beside.rank() - type->rank());
  }
  Parameter result;
  result.value = *value;
  if (dim == -1) return result;
  const bool rows = type->rank() == beside.rank() && type->shape.back() == Dim(1) &&
                    std::equal(type->shape.begin(), type->shape.end() - 1, beside.shape.begin());
  if (!rows) return std::nullopt;
  result.axis = Parameter::kRows;
  return result;
}

ValueId cast_input(const Context& context, ValueId value, DType to) {
  const Node* node = context.maker(value);
  if (node == nullptr || !is_cast(*node) || !is_of(context, value, to)) return {};
  const ValueId input = value_argument(*node, 0);
  const ir::TensorType* type = tensor(context, input);
  return type != nullptr && type->dim_order == context.type(value).dim_order ? input : ValueId{};
}

std::optional<Dequantized> dequantized(const Context& context, ValueId value) {
  const Node* node = context.maker(value);
  if (node == nullptr || node->results.size() != 1 || !is_of(context, value, DType::kF32)) return std::nullopt;
  return node->op->is_dequantization() ? from_operator(context, *node) : from_arithmetic(context, value);
}

std::optional<DequantizedConstant> dequantized_constant(const Context& context, ValueId value) {
  // What turned the constant, the last first.
  std::vector<ValueId> turns;
  auto pair = dequantized(context, value);
  while (!pair) {
    const Node* node = context.maker(value);
    if (node == nullptr || node->args.empty() || turns.size() == kMaxTurns) return std::nullopt;
    const ValueId from = value_argument(*node, 0);
    const ir::TensorType* type = tensor(context, from);
    if (type == nullptr || !is_of(context, value, DType::kF32) || !context.type(value).is_static()) return std::nullopt;
    if (permutation(*node, type->rank()).empty() && !node->op->is_reshape()) return std::nullopt;
    turns.push_back(value);
    value = from;
    pair = dequantized(context, value);
  }
  const ir::Constant* constant = context.constant(Argument(pair->integers));
  if (constant == nullptr || !constant->type.is_contiguous()) return std::nullopt;
  DequantizedConstant result{constant->type, constant->blob.to_vector(), pair->integers, pair->scale, pair->zero_point};
  if (!turns.empty() && element_size(result.type.dtype) != 1) return std::nullopt;
  for (; !turns.empty(); turns.pop_back()) {
    if (!turn(context, turns.back(), &result)) return std::nullopt;
  }
  return result;
}

std::optional<Quantized> quantized(const Context& context, const Node& node) {
  if (node.results.size() != 1) return std::nullopt;
  const ir::TensorType* type = tensor(context, node.results[0]);
  if (type == nullptr) return std::nullopt;
  const DType dtype = type->dtype;
  if (dtype != DType::kU8 && dtype != DType::kI8 && dtype != DType::kU16 && dtype != DType::kI16) return std::nullopt;
  if (!is_cast(node)) return by_operator(context, node);
  Quantized result;
  result.dtype = dtype;
  if (!read_limits(context, node, dtype, &result)) return std::nullopt;
  if (!read_zero_point(context, *type, &result) || !read_scale(context, *type, &result)) return std::nullopt;
  return result;
}

}  // namespace berth::fuse
