// Changes of element type.
#include "compiler/import/onnx/operators.h"

namespace berth::onnx {
namespace {

void import_cast(NodeContext& n) {
  const int64_t to = n.integer("to", 0);
  DType dtype = DType::kF32;
  if (!dtype_of(static_cast<int32_t>(to), &dtype)) {
    return n.unsupported("to " + element_type_name(static_cast<int32_t>(to)) + " is not supported");
  }
  if (to == static_cast<int64_t>(ElementType::kInt4) || to == static_cast<int64_t>(ElementType::kUint4)) {
    return n.unsupported("to 4-bit integers is not supported");
  }
  const ValueId x = n.input(0);
  if (n.dtype(x) == dtype) return n.forward(0, 0);
  n.output(0, n.cast(x, dtype));
}

void import_cast_like(NodeContext& n) {
  const ValueId x = n.input(0);
  const DType dtype = n.dtype(n.input(1));
  if (n.dtype(x) == dtype) return n.forward(0, 0);
  if (const std::optional<Known> known = n.known(0)) {
    if (std::optional<Known> cast = known_as(*known, dtype)) return n.output(0, std::move(*cast));
  }
  n.output(0, n.cast(x, dtype));
}

constexpr OperatorRow kCastRows[] = {
    {"Cast", 1, 1, import_cast},
    {"CastLike", 2, 2, import_cast_like},
};

}  // namespace

OperatorTable cast_operators() { return kCastRows; }

}  // namespace berth::onnx
