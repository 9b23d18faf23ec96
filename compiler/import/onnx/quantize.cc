#include "compiler/import/onnx/quantize.h"

namespace berth::onnx {

bool limits_of(DType dtype, Limits* out) {
  switch (dtype) {
    case DType::kU8: *out = {0, 255}; return true;
    case DType::kI8: *out = {-128, 127}; return true;
    case DType::kU16: *out = {0, 65535}; return true;
    case DType::kI16: *out = {-32768, 32767}; return true;
    case DType::kU4: *out = {0, 15}; return true;
    case DType::kI4: *out = {-8, 7}; return true;
    case DType::kU2: *out = {0, 3}; return true;
    case DType::kI2: *out = {-2, 1}; return true;
    default: return false;
  }
}

ValueId along_axis(NodeContext& n, ValueId parameter, ValueId x, int64_t axis_without) {
  const int rank = n.rank(x);
  const int64_t block = n.integer("block_size", 0);
  if (n.rank(parameter) == 0) return parameter;
  if (n.rank(parameter) == 1 && n.dim(parameter, 0) == Dim(1)) return n.view(parameter, {});
  const int axis = n.axis(n.integer("axis", axis_without), rank);
  if (!n.ok()) return {};
  if (n.rank(parameter) == 1) {
    std::vector<Dim> shape(rank, Dim(1));
    shape[axis] = n.dim(parameter, 0);
    return n.view(parameter, shape);
  }
  if (block < 1 || n.rank(parameter) != rank) {
    n.invalid("a scale " + n.type_text(parameter) + " does not fit " + n.type_text(x) + " in blocks of " +
              std::to_string(block));
    return {};
  }
  const std::vector<Dim> blocks = n.shape(parameter);
  std::vector<Dim> split = blocks;
  split.insert(split.begin() + axis + 1, Dim(1));
  std::vector<Dim> wide = split;
  wide[axis + 1] = Dim(block);
  std::vector<Dim> joined = blocks;
  joined[axis] = n.symbols().mul(blocks[axis], Dim(block));
  const ValueId repeated = n.view(n.expand(n.view(parameter, split), wide), joined);
  if (n.dim(repeated, axis) == n.dim(x, axis)) return repeated;
  return n.slice(repeated, axis, 0, n.dim(x, axis));
}

namespace {

ValueId saturated(NodeContext& n, ValueId x, ValueId zero_point, DType to) {
  if (n.ok() && is_narrow_float(to) && to != DType::kF8E8M0) {
    return cast_narrow(n, zero_point.valid() ? n.op(OpId::add_out, {x, n.cast(zero_point, DType::kF32)}) : x, to);
  }
  Limits limits{0, 0};
  if (n.ok() && !limits_of(to, &limits)) {
    n.unsupported(std::string("quantises to integers of 2 to 16 bits and floats of 4 and 8, not to ") + to_string(to));
  }
  ValueId y = n.op(OpId::round_out, {x});
  if (zero_point.valid()) y = n.op(OpId::add_out, {y, n.cast(zero_point, DType::kF32)});
  y = n.op(OpId::clamp_out, {y, static_cast<double>(limits.low), static_cast<double>(limits.high)});
  return n.cast(y, to);
}

}  // namespace

ValueId requantized(NodeContext& n, ValueId x, ValueId factor, ValueId zero_point, DType to) {
  return saturated(n, n.op(OpId::mul_out, {x, factor}), zero_point, to);
}

ValueId quantized(NodeContext& n, ValueId x, ValueId scale, ValueId zero_point, DType to) {
  DType precision = DType::kF32;
  const int64_t named = n.integer("precision", 0);
  if (named != 0 && (!dtype_of(static_cast<int32_t>(named), &precision) || !is_floating(precision))) {
    n.unsupported("attribute 'precision' names no floating-point type");
    return {};
  }
  const ValueId quotient = n.op(OpId::div_out, {n.cast(x, precision), n.cast(scale, precision)});
  return saturated(n, precision == DType::kF64 ? quotient : n.cast(quotient, DType::kF32), zero_point, to);
}

ValueId dequantized(NodeContext& n, ValueId x, ValueId scale, ValueId zero_point) {
  if (n.ok() && n.dtype(scale) == DType::kF8E8M0) scale = n.cast(scale, DType::kF32);
  const DType to = n.dtype(scale);
  if (n.ok() && !is_floating(to)) n.invalid("the scale must be floating-point, found " + n.type_text(scale));
  ValueId y = n.cast(x, to);
  if (zero_point.valid()) y = n.op(OpId::sub_out, {y, n.cast(zero_point, to)});
  return n.op(OpId::mul_out, {y, scale});
}

DynamicallyQuantized dynamically_quantized(NodeContext& n, ValueId x) {
  const ValueId low = n.op(OpId::clamp_out, {n.op(OpId::amin_out, {x, DimList{}, false}), None(), 0.0});
  const ValueId high = n.op(OpId::clamp_out, {n.op(OpId::amax_out, {x, DimList{}, false}), 0.0, None()});
  const ValueId range = n.op(OpId::sub_out, {high, low});
  const ValueId steps = n.op(OpId::div_Scalar_out, {range, 255.0});
  const ValueId empty = n.op(OpId::eq_Scalar_out, {range, 0.0});
  DynamicallyQuantized q;
  q.scale = n.op(OpId::masked_fill_Scalar_out, {steps, empty, 1.0});
  const ValueId start = n.op(OpId::neg_out, {n.op(OpId::div_out, {low, q.scale})});
  const ValueId held = n.op(OpId::clamp_out, {start, 0.0, 255.0});
  q.zero_point = n.cast(n.op(OpId::round_out, {held}), DType::kU8);
  q.integers = quantized(n, x, q.scale, q.zero_point, DType::kU8);
  return q;
}

ValueId scalar_input(NodeContext& n, size_t i, const char* what) {
  const ValueId x = n.input(i);
  for (const Dim size : n.shape(x)) {
    if (size != Dim(1)) n.invalid(std::string(what) + " must be one number, found " + n.type_text(x));
  }
  return n.view(x, {});
}

ValueId optional_input(NodeContext& n, size_t i) { return n.has_input(i) ? n.input(i) : ValueId(); }

}  // namespace berth::onnx
