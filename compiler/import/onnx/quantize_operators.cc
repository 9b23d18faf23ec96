// Quantisation as arithmetic on numbers and their scales: fusions find the pairs again.
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

/// `parameter` (a scale or a zero point), with the shape that multiplies `x`: one number, one a slice of `axis`, or one
/// a block of `block` elements along it.
ValueId along_axis(NodeContext& n, ValueId parameter, ValueId x) {
  const int rank = n.rank(x);
  const int64_t block = n.integer("block_size", 0);
  if (n.rank(parameter) == 0) return parameter;
  if (n.rank(parameter) == 1 && n.dim(parameter, 0) == Dim(1)) return n.view(parameter, {});
  const int axis = n.axis(n.integer("axis", 1), rank);
  if (!n.ok()) return {};
  if (n.rank(parameter) == 1) {
    std::vector<Dim> shape(static_cast<size_t>(rank), Dim(1));
    shape[static_cast<size_t>(axis)] = n.dim(parameter, 0);
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
  wide[static_cast<size_t>(axis) + 1] = Dim(block);
  std::vector<Dim> joined = blocks;
  joined[static_cast<size_t>(axis)] = n.symbols().mul(blocks[static_cast<size_t>(axis)], Dim(block));
  const ValueId repeated = n.view(n.expand(n.view(parameter, split), wide), joined);
  if (n.dim(repeated, axis) == n.dim(x, axis)) return repeated;
  return n.op(OpId::slice_copy_Tensor_out, {repeated, Dim(axis), Dim(0), n.dim(x, axis), Dim(1)});
}

struct Limits {
  int64_t low;
  int64_t high;
};

bool limits_of(DType dtype, Limits* out) {
  switch (dtype) {
    case DType::kU8: *out = {0, 255}; return true;
    case DType::kI8: *out = {-128, 127}; return true;
    case DType::kU16: *out = {0, 65535}; return true;
    case DType::kI16: *out = {-32768, 32767}; return true;
    default: return false;
  }
}

DType quantized_type(NodeContext& n) {
  const int64_t named = n.integer("output_dtype", 0);
  DType dtype = n.has_input(2) ? n.dtype(n.input(2)) : DType::kU8;
  const bool nibbles = named == static_cast<int64_t>(ElementType::kInt4) ||
                       named == static_cast<int64_t>(ElementType::kUint4) || (n.has_input(2) && n.is_nibbles(2));
  if (nibbles || (named != 0 && !dtype_of(static_cast<int32_t>(named), &dtype))) {
    n.unsupported("quantises to 8 or 16-bit integers only");
  }
  return dtype;
}

// saturate(round(x / scale) + zero point), halves rounded to even.
void import_quantize_linear(NodeContext& n) {
  const ValueId x = n.input(0);
  const DType to = quantized_type(n);
  Limits limits{0, 0};
  if (n.ok() && !limits_of(to, &limits)) return n.unsupported("quantises to 8 or 16-bit integers only");
  const ValueId scale = n.cast(along_axis(n, n.input(1), x), DType::kF32);
  ValueId y = n.op(OpId::round_out, {n.op(OpId::div_out, {n.cast(x, DType::kF32), scale})});
  if (n.has_input(2)) {
    y = n.op(OpId::add_out, {y, n.cast(along_axis(n, n.input(2), x), DType::kF32)});
  }
  const ValueId held = n.op(OpId::clamp_out, {y, static_cast<double>(limits.low), static_cast<double>(limits.high)});
  n.output(0, n.cast(held, to));
}

void import_dequantize_linear(NodeContext& n) {
  const ValueId x = n.input(0);
  const ValueId scale = along_axis(n, n.input(1), x);
  const DType to = n.dtype(scale);
  if (n.ok() && !is_floating(to)) return n.invalid("the scale must be floating-point, found " + n.type_text(scale));
  ValueId y = n.cast(x, to);
  if (n.has_input(2)) y = n.op(OpId::sub_out, {y, n.cast(along_axis(n, n.input(2), x), to)});
  y = n.op(OpId::mul_out, {y, scale});
  DType named = to;
  if (n.integer("output_dtype", 0) != 0 && !dtype_of(static_cast<int32_t>(n.integer("output_dtype", 0)), &named)) {
    return n.unsupported("attribute 'output_dtype' names a type that no operator takes");
  }
  n.output(0, n.cast(y, named));
}

constexpr OperatorRow kRows[] = {
    {"DequantizeLinear", 2, 3, import_dequantize_linear},
    {"QuantizeLinear", 2, 3, import_quantize_linear},
};

}  // namespace

OperatorTable quantize_operators() { return kRows; }

}  // namespace berth::onnx
