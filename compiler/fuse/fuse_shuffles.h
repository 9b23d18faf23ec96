// fuse_shuffles: images that are joined, shuffled by channels and taken apart, in one pass over them.
//
//     %j = aten::cat([%a, %b], 1)
//     %v = aten::view_copy(%j, [n, 2, c, h, w])
//     %p = aten::permute_copy(%v, [0, 2, 1, 3, 4])
//     %s = aten::view_copy(%p, [n, 2 * c, h, w])
//     %x, %y = aten::split_with_sizes_copy(%s, [c, c], 1)  →   %x, %y = berth::shuffle([%a, %b], 2, [c, c])
//
// Each step is read by the next alone; without the split there is one result.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_shuffles(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
