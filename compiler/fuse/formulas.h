// Reading formulas of f32, f16 and bf16: products of factors, sums with a number, limits. Interior results are read
// once each, and all are of one type.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// number * factor * factor * …
struct Factors {
  double number = 1;
  std::vector<ir::ValueId> values;
};

/// `value` as a product of values of its own shape and a number: through mul and div by numbers, and mul of two
/// tensors. At most four values; a value that is not a product is its own only factor.
Factors factors_of(const Context& context, ir::ValueId value);
/// The same of what `node` gives.
Factors factors_of(const Context& context, const ir::Node& node);

/// x + number; invalid when `value` is not such a sum.
struct Sum {
  ir::ValueId value;
  double number = 0;
};
Sum sum_of(const Context& context, ir::ValueId value);

/// What relu, clamp and hardtanh, one after another, limit `value` to: the value before them, and the limits.
struct Limits {
  ir::ValueId value;
  double low, high;
};
Limits limits_of(const Context& context, ir::ValueId value);

/// Whether two numbers are equal up to what numbers of `type` can tell apart.
bool near(double a, double b, DType type);

}  // namespace berth::fuse
