// split_heads: attention on bytes, a head at a time, where its scores as floats are large.
//
//     %s: i8[6,197,197] = berth::quantized_linear(%q, …, %k, …)      the products of all heads
//     %f: f32[6,197,197] = berth::elementwise([%s], …)
//     %p: f32[6,197,197] = aten::_softmax(%f, 2, false)
//     %b: i8[6,197,197] = berth::elementwise([%p], …)
//     %o: i8[6,197,64] = berth::quantized_linear(%b, …, %v, …)
//          →   the same of slices of %q, %k and %v, one for each head, and aten::cat of the results
//
// Softmax computes floats. Those of all heads took four times the memory of the scores as bytes, and were the peak of a
// quantised vision transformer; those of one head stay in the cache as well. Results are the same.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> split_heads(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
