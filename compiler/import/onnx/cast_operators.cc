// Changes of element type.
//
// Conversions of the IR are ATen's, which do not saturate: ONNX's default is a clamp before them.
#include "base/narrow.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/quantize.h"

namespace berth::onnx {
namespace {

// The power of two next to `x`, which the conversion has rounded to the nearest, upward or downward.
ValueId power_beside(NodeContext& n, ValueId x, const std::string& mode) {
  const ValueId nearest = n.cast(n.cast(x, DType::kF8E8M0), DType::kF32);
  const bool up = mode == "up";
  const ValueId beyond = n.op(up ? OpId::lt_Tensor_out : OpId::gt_Tensor_out, {nearest, x});
  const ValueId next = n.op(OpId::mul_Scalar_out, {nearest, up ? 2.0 : 0.5});
  return n.op(OpId::where_self_out, {beyond, next, nearest});
}

}  // namespace

ValueId cast_narrow(NodeContext& n, ValueId x, DType to) {
  if (!n.ok() || n.dtype(x) == to) return x;
  const bool power = to == DType::kF8E8M0;
  const std::string mode = n.text("round_mode", "up");
  if (power && mode != "up" && mode != "down" && mode != "nearest") {
    n.invalid("attribute 'round_mode' must be up, down or nearest");
    return {};
  }
  if (power || !is_floating(n.dtype(x))) x = n.cast(x, DType::kF32);
  if (to != DType::kF4E2M1 && n.integer("saturate", 1) != 0) {
    const double largest = largest_narrow(to);
    x = n.op(OpId::clamp_out, {x, power ? 1 / largest : -largest, largest});
  }
  return n.cast(power && mode != "nearest" ? power_beside(n, x, mode) : x, to);
}

namespace {

void give_cast(NodeContext& n, ValueId x, DType dtype) {
  n.output(0, is_narrow_float(dtype) ? cast_narrow(n, x, dtype) : n.cast(x, dtype));
}

void import_cast(NodeContext& n) {
  const int64_t to = n.integer("to", 0);
  DType dtype = DType::kF32;
  if (!dtype_of(static_cast<int32_t>(to), &dtype)) {
    return n.unsupported("to " + element_type_name(static_cast<int32_t>(to)) + " is not supported");
  }
  const ValueId x = n.input(0);
  if (n.dtype(x) == dtype) return n.forward(0, 0);
  give_cast(n, x, dtype);
}

void import_cast_like(NodeContext& n) {
  const ValueId x = n.input(0);
  const DType dtype = n.dtype(n.input(1));
  if (n.dtype(x) == dtype) return n.forward(0, 0);
  if (const std::optional<Known> known = n.known(0)) {
    if (std::optional<Known> cast = known_as(*known, dtype)) return n.output(0, std::move(*cast));
  }
  give_cast(n, x, dtype);
}

void import_bit_cast(NodeContext& n) {
  const int64_t to = n.integer("to", 0);
  DType dtype = DType::kF32;
  const ValueId x = n.input(0);
  const bool known = dtype_of(static_cast<int32_t>(to), &dtype);
  const auto is_part = [](DType t) { return is_narrow_integer(t) || t == DType::kF4E2M1; };  // of a byte
  if (!known || is_part(dtype) || is_part(n.dtype(x))) {
    return n.unsupported("from " + n.type_text(x) + " to " + element_type_name(static_cast<int32_t>(to)));
  }
  if (n.dtype(x) == dtype) return n.forward(0, 0);
  n.output(0, n.op(OpId::bit_cast_out, {x, lowering::number_of(dtype)}));
}

constexpr OperatorRow kCastRows[] = {
    {"BitCast", 1, 1, import_bit_cast},
    {"Cast", 1, 1, import_cast},
    {"CastLike", 2, 2, import_cast_like},
};

}  // namespace

OperatorTable cast_operators() { return kCastRows; }

}  // namespace berth::onnx
