// fuse_attention: softmax(query · key * scale + mask) · value, written out, as one operator over rows of tokens.
//
//     %s = aten::bmm(%q, %k)                    %q: [heads, tokens, size], %k: [heads, size, tokens]
//     %p = aten::_softmax(%s * scale + mask)
//     %o = aten::bmm(%p, %v)
//     %t = aten::permute_copy(%o, …)            [tokens, heads, size]
//          →   %t = view(berth::attention(%x, %x, %x, mask, heads, size, 0, 288, 576, scale, causal))
//
// What cuts queries, keys and values out of the tokens' rows (views, permutations, slices) is followed back to those
// rows, and is not done at all. Heads may lie in channels, [heads * size, tokens], as convolutions give them
// (channel_heads.h): the rows are then a permutation of these, and so is the result. A constant mask that hides what
// comes later becomes `causal`; one of zeros goes. With two masks, such as the bias of heads and the mask of windows
// that gather_masks leaves because their sum is large, it is berth::attention.biased, on cpu and sim.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_attention(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
