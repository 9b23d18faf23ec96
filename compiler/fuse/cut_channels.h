// cut_channels: channels that are cut out of each group of a convolution's channels, as columns of rows.
//
//     %v = aten::view_copy(%x: f32[1,512,20,20], [1, 4, 128, 400])
//     %s = aten::slice_copy.Tensor(%v, 2, 64, 128, 1)
//     %y = aten::view_copy(%s, [1, 256, 20, 20])
//          →   %r = aten::permute_copy(view(%x), [0, 2, 1])                               [1, 400, 512]
//              %c = aten::slice_copy.Tensor(view(%r, [1, 400, 4, 128]), 3, 64, 128, 1)
//              %y = view(aten::permute_copy(view(%c, [1, 400, 256]), [0, 2, 1]))
//
// Detectors of the YOLO family give the values of their attention to a convolution so. With the channels innermost both
// permutations are nothing, and the slice is all that is copied. For targets that have them there.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> cut_channels(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
