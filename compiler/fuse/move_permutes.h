// move_permutes: element-wise operators, padding and slices stand before the permutations and views of what
// convolutions give, so that products take them in, and permutations and views that follow each other are one, or none.
//
//     %c = aten::convolution(…)   [8,24,1,32,32]     %c = aten::convolution(…)
//     %p = aten::permute_copy(%c, [2, 1, 0, 3, 4])   %r = aten::relu(%c)
//     %r = aten::relu(%p)                          → %d = aten::convolution(%r, …)
//     %q = aten::permute_copy(%r, [2, 1, 0, 3, 4])
//     %d = aten::convolution(%q, …)
//
// Convolutions over three axes are those of frames one after the other, each between permutations. Concatenations of
// frames and norms over groups of their channels stand before them too (move_joins.h).
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> move_permutes(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
