// expand_transposed: transposed convolutions of dequantised numbers whose windows lie side by side, as convolutions of
// one tap, which have kernels for bytes, and moves.
//
//     %y: f32[n,c,2h,2w] = aten::convolution(%x: f32[n,d,h,w], @weight: [d,c,2,2], @bias, [2, 2], [0, 0], [1, 1],
//                                            true, …)
//   →
//     %p: f32[n,4c,h,w] = aten::convolution(%x, @weight': [4c,d,1,1], @bias', [1, 1], [0, 0], [1, 1], false, …)
//     %r = aten::permute_copy(%p, [0, 2, 3, 1])             n, h, w, (ky, kx, c)
//     %v = aten::view_copy(%r, [n, h, w, 2, 2c])
//     %t = aten::permute_copy(%v, [0, 1, 3, 2, 4])          n, h, ky, w, (kx, c)
//     %u = aten::view_copy(%t, [n, 2h, 2w, c])
//     %y = aten::permute_copy(%u, [0, 3, 1, 2])
//
// With the channels innermost the outer permutations and the views are nothing. Where the result is quantised, it is
// the bytes that are moved (move_quantization). Each sum has the products that it had. For one group, windows as large
// as their stride, and sizes that are known but for the batch.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> expand_transposed(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
