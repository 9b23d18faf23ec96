// Known: the elements of a small tensor whose values are known while importing, so that shape arithmetic (Shape,
// Gather, Mul, Concat, … into Reshape) becomes constants and symbols instead of nodes.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/module.h"

namespace berth::onnx {

/// One element: of integer and bool tensors `whole`, a number or a symbol; of floating-point tensors `real`.
struct Number {
  ir::Dim whole;
  double real = 0;
};

struct Known {
  DType dtype = DType::kI64;
  std::vector<int64_t> shape;
  std::vector<Number> elements;  // row-major

  bool floating() const { return is_floating(dtype); }
  /// Whether no element is a symbol.
  bool is_constant() const;
};

/// The most elements that are tracked; larger tensors are data, not shapes.
constexpr size_t kMaxKnownIntegers = 1024;
constexpr size_t kMaxKnownReals = 64;
/// Whether a tensor of `dtype` with `count` elements is small enough to be tracked.
bool may_be_known(DType dtype, int64_t count);

/// The elements of a constant, when it is small enough.
std::optional<Known> known_of(const ir::Constant& constant);
/// The elements as the bytes of a constant. REQUIRES: is_constant().
std::vector<uint8_t> bytes_of(const Known& known);

/// The elements converted to `dtype`. Nothing when a symbol would become no i32 or i64, a real does not fit into an
/// integer, or the result is too large to follow.
std::optional<Known> known_as(const Known& known, DType dtype);

/// `number` as an element of `dtype`: reals rounded, integers wrapped, as arithmetic in that type would leave them.
Number rounded(DType dtype, Number number);

}  // namespace berth::onnx
