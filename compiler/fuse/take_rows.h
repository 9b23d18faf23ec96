// take_rows: rows that nothing reads are not computed.
//
//     %h = berth::linear(%m, @down, %r)     [1,512,2048]          %l = berth::linear(slice(%m), @down, slice(%r))
//     %l = aten::slice_copy(%h, 1, 511, 512)                →                                           [1,1,2048]
//     %y = berth::linear(%l, @head)         [1,1,128256]          %y = berth::linear(%l, @head)
//
// The slice moves up through operators that compute each row from the same row, as long as nothing else reads them.
// For the logits of a prompt's last token, a language model then computes most of its last layer for that token alone.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> take_rows(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
