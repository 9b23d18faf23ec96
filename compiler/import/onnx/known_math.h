// Arithmetic on known elements: numbers as the element type computes them, symbols as far as their ranges decide.
#pragma once

#include "compiler/import/onnx/known.h"

namespace berth::onnx {

enum class BinaryRule : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,  // integers: rounds towards zero
  kMod,  // integers only: the result has the divisor's sign
  kMin,
  kMax,
  kEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kAnd,
  kOr,
};

/// `a` rule `b` for elements of `dtype`. Comparisons return 0 or 1 in `whole`. Nothing when it is undecidable: the
/// order of symbols whose ranges overlap, a division by a symbol that may be 0.
std::optional<Number> apply(ir::Symbols& symbols, DType dtype, BinaryRule rule, Number a, Number b);

/// The rule on every pair of elements, shapes broadcast as NumPy does; dtype that of `a`. Nothing when one pair gives
/// nothing, the shapes do not fit, or the result is too large to follow.
std::optional<Known> broadcast(ir::Symbols& symbols, const Known& a, const Known& b, BinaryRule rule);

}  // namespace berth::onnx
