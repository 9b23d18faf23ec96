// What a call of an operator asks of a machine: arithmetic and bytes, for profiles.
#pragma once

#include "base/span.h"
#include "runtime/value.h"

namespace berth::tool {

struct OperatorCost {
  /// Of products, convolutions and attention: two a multiplication and addition, as everybody counts them. 0 for
  /// operators that are bound by memory.
  double flops = 0;
  /// Of every tensor among the arguments once, read or written: what has to move when nothing is in a cache.
  double bytes = 0;
};

/// `name` with overload, "aten::convolution.out", and a call's arguments with the sizes of this run. A call of an
/// operator that it does not know has bytes alone.
OperatorCost operator_cost(const char* name, Span<EValue* const> args);

}  // namespace berth::tool
