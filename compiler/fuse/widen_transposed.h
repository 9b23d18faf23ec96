// widen_transposed: transposed convolutions to few channels, such as the last of an audio or image decoder, as
// convolutions that compute all positions of a stride as channels, and moves.
//
//     %y: f32[n,1,1,4l] = berth::conv(%x: f32[n,d,1,l], @weight: [d,1,1,8], @bias, none, [1, 4], [0, 2], …, true, …)
//   →
//     %p: f32[n,4,1,l+1] = berth::conv(%x, @weight': [4,d,1,2], @bias', none, [1, 1], [0, 1], …, false, …)
//     %r = aten::permute_copy(%p, [0, 2, 3, 1])             n, 1, l + 1, (kx, c)
//     %v = aten::view_copy(%r, [n, 1, 4(l+1), 1])
//     %s = aten::slice_copy.Tensor(%v, 2, 2, 4l + 2, 1)      what padding leaves
//     %y = aten::permute_copy(%s, [0, 3, 1, 2])
//
// A register holds channels: with one channel, fifteen of its sixteen numbers are unused. Two axes are moved as
// expand_transposed does it. Each sum has the products that it had, and zeros where a window is not a multiple of its
// stride. For one group, constant weights, no residual, sizes that are known but for the batch, and where that takes at
// most 0.59 of the products.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> widen_transposed(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
