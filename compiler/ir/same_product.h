// Whether two shapes have the same number of elements, whatever their symbols are at run time.
#pragma once

#include "compiler/ir/argument.h"
#include "compiler/ir/dim.h"

namespace berth::ir {

/// Whether the products of `a` and `b` are the same polynomial: each dimension is written as a number times sums of
/// symbols without a common divisor, so that 4n + 16 and (n + 4) * 4 agree. False also where this is not known, such as
/// when a product does not fit into 64 bits.
bool same_product(const Symbols& symbols, const DimList& a, const DimList& b);

}  // namespace berth::ir
