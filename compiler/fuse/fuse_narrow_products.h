// fuse_narrow_products: matrix products whose weight is widened from 8 bits or fewer, with the weight as it is.
//
//     %w: f32[384,384] = dim_order_ops::_to_dim_order_copy(@weight: i8[384,384], …)
//     %s: f32[384,384] = aten::mul.Tensor(%w, @scale)
//     %y: f32[64,384] = aten::mm(%x, %s)
//   →
//     %y: f32[64,384] = berth::narrow_linear(%x, @weight, @scales, …)
//
// Folding has left the cast as it was (passes::Options::keep_quantized), and folds what this pass does not take behind
// it. What follows a product, fuse_products takes along. A weight that several nodes read is not taken: such are the
// steps of an LSTM, which become one operator. For targets that take bytes (takes_bytes()).
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_narrow_products(ir::Module& module, const Targets& targets,
                                               const passes::Options& options);

}  // namespace berth::fuse
