// sum_before_product: a sum over rows of a matrix product, as the product of the sum.
//
//     %p = aten::addmm(bias, %x, w), %s = aten::sum(%p * %e, rows)
//          →   %t = aten::bmm(%e, %x)           the rows of each sum, weighed
//              %s = aten::mm(%t, w) + sum(%e) * bias
//
// without weights, or as a mean, likewise. The weights %e are one a row. Message passing in graphs sums what a layer
// makes of each pair of nodes: with 48 nodes that is 2304 rows of a product, and is 48. Where rows are summed, rounding
// differs in the last bits, as between any two orders of a sum.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> sum_before_product(ir::Module& module, const Targets& targets,
                                             const passes::Options& options);

}  // namespace berth::fuse
