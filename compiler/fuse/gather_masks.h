// gather_masks: all constants that are added to the scores of attention are one, and factors of heads are those of
// queries.
//
//     %s = aten::bmm(%q, %k)                                        [windows * heads, queries, keys]
//     %a = view(%s) * @scale + @bias                                [heads, 1, 1], [1, heads, queries, keys]
//     %b = view(%a) + @shifted                                      [1, windows, 1, queries, keys]
//     %p = aten::_softmax(view(%b), -1)
//          →   %s = aten::bmm(view(%q) * @scale, %k)
//              %p = aten::_softmax(view(%s) + @mask, -1)            [windows, heads, queries, keys]
//
// Shifted windows (Swin) have a bias of positions and a mask, and version 2 a factor of each head; fuse_attention and
// fuse_grouped_attention read one factor and one mask. Where their sum is larger than 4 MiB, all stays as it is, and
// fuse_attention takes two of them.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> gather_masks(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
