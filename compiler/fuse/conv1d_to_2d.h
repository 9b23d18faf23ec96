// conv1d_to_2d: signals [n, c, l] as images [n, c, 1, l], so that convolutions over one axis are done as those over
// two are, with the channels innermost (channels_last.h).
//
//     %y: f32[1,8,50] = berth::conv(%x, %w, …)         →   %i: f32[1,4,1,50] = aten::view_copy(%x, [1, 4, 1, 50])
//                                                          %j: f32[1,8,1,50] = berth::conv(%i, %w2, …)
//                                                          %y: f32[1,8,50] = aten::view_copy(%j, [1, 8, 50])
//
// Convolutions, of numbers or of bytes, begin such a stretch; element-wise operators, cat, slices and splits, group
// norm, means and maxima over the places (as a pool of all of them) go on with it. So does padding with a number, as of
// causal convolutions, as a concatenation with a signal of that number. What knows nothing of images reads the view. A
// permutation (0, 2, 1) that only turns tokens into channels or back becomes one of [n, 1, l, c], which channels_last
// makes a view.
//
// For targets with the channels innermost.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> conv1d_to_2d(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
