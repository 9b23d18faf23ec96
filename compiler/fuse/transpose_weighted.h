// transpose_weighted: attention whose values are columns, as attention whose values are rows.
//
//     %t = aten::permute_copy(aten::_softmax(%s, -1), [0, 1, 3, 2])
//     %o = aten::bmm(%v, %t)                    %v: [heads, size, tokens], as convolutions give it
//          →   %r = aten::permute_copy(%v, [0, 2, 1])
//              %p = aten::bmm(aten::_softmax(%s, -1), %r)
//              %o = aten::permute_copy(%p, [0, 2, 1])
//
// The detectors of the YOLO family write it so (from version 10 on), and so do attention over positions in segmentation
// nets and generators. fuse_attention and fuse_grouped_attention then read one form. Each sum is the same.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> transpose_weighted(ir::Module& module, const Targets& targets,
                                             const passes::Options& options);

}  // namespace berth::fuse
