// The cost of an operator's call, in arithmetic and bytes, for profiles.
#pragma once

#include "base/span.h"
#include "runtime/value.h"

namespace berth::tool {

struct OperatorCost {
  /// Floating-point operations of products, convolutions and attention: 2 for each multiplication and addition. 0 for
  /// operators that are bound by memory.
  double flops = 0;
  /// The bytes of every tensor among the arguments, counted once: the memory traffic if nothing is cached. Of one that
  /// indices pick rows or elements of, as many as the result has.
  double bytes = 0;
};

/// The cost of a call of `name` (with overload, "aten::convolution.out") with the arguments of this run. For unknown
/// operators, only bytes.
OperatorCost operator_cost(const char* name, Span<EValue* const> args);

}  // namespace berth::tool
