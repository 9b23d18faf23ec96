// fuse_grouped_attention: attention over a cache of keys and values, as models write it that make text token by token.
//
//     %k5 = aten::expand_copy(view(%keys), [b, g, r, n, d])          %keys: [b, g, n, d]; r heads read one of keys
//     %s  = aten::bmm(%q, transpose(view(%k5)))
//     %m  = aten::where(%positions <= %position, %s * scale, -inf)   [b, g * r, queries, n]
//     %o  = aten::bmm(aten::_softmax(%m), view(expand(%values)))
//          →   %o = view(berth::grouped_attention(%q, %keys, %values, none, last, before, scale, guarded))
//
// Keys and values are not repeated, and not turned; where a cache holds the heads of each key side by side, [b, n, g,
// d], berth::grouped_attention.rows reads it there. Heads in the channels of a convolution are cut out of rows of
// tokens (channel_heads.h). A mask that compares the keys' positions with one of each query (`arange <= position`,
// `arange > position - window`, or a row of a triangle that the position picks) becomes the number of the last key that
// the query sees, or of the one before the first: what lies behind is then not read at all. Other masks stay, and
// `--why fusion` says mask-not-a-length.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_grouped_attention(ir::Module& module, const Targets& targets,
                                                 const passes::Options& options);

}  // namespace berth::fuse
