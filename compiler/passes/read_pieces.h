// read_pieces: what is taken out of joined tensors is read where it was before they were joined.
//
//     %s: f32[4,5,2] = aten::stack([%a, %b], -1)
//     %x: f32[4,5] = aten::select_copy.int(%s, 2, 1)              →   uses of %x read %b
//     %c: f32[4,8] = aten::cat([%p: f32[4,5], %q: f32[4,3]], 1)
//     %y: f32[4,2] = aten::slice_copy.Tensor(%c, 1, 6, 8, 1)      →   %y = aten::slice_copy.Tensor(%q, 1, 1, 3, 1)
//     %t: f32[2,5,4] = aten::permute_copy(%s, [2, 1, 0])
//     %z: f32[5,4] = aten::select_copy.int(%t, 0, 0)              →   %z = aten::permute_copy(%a, [1, 0])
//
// Complex numbers come so, as pairs that are joined and taken apart between one transform and the next. A piece stays
// where the caller must get a tensor of its own.
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

Expected<Changed> read_pieces(ir::Module& module, const Options& options);

}  // namespace berth::passes
