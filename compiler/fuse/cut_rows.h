// cut_rows: the products that widen the rows of a long prompt and bring them back, for some rows at a time.
//
//     %g = berth::linear(%x, @gate, "silu")     [1,512,8192]        for rows 0 to 63, 64 to 127, …:
//     %u = berth::linear(%x, @up)               [1,512,8192]          %xi = slice(%x)
//     %m = aten::mul(%g, %u)                    [1,512,8192]    →     %gi, %ui, %mi                 [1,64,8192]
//     %y = berth::linear(%m, @down, %r)         [1,512,2048]          %yi = berth::linear(%mi, @down, slice(%r))
//                                                                   %y = cat(%y0, %y1, …)
//
// Slices and their concatenation are names of parts of tensors (memory/sub_buffers.h), so nothing is copied, and of the
// wide tensors no more than a strip is ever there. Only rows of known number are cut; what is narrow in all stays
// whole.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> cut_rows(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
