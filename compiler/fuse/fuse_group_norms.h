// fuse_group_norms: group norm as files without that operator write it, of rows that stand for groups.
//
//     %v = aten::view_copy(%x: f32[1,64,32,32], [1, 8, 8192])
//     %n = aten::native_group_norm(%v, 1, 0, …, 8 groups)          →   %y = aten::native_group_norm(%x, %w, %b, …)
//     %u = aten::view_copy(%n, [1, 64, 32, 32])
//     %m = aten::mul.Tensor(%u, %w: f32[64,1,1])
//     %y = aten::add.Tensor(%m, %b: f32[64,1,1])
//
// So it can be done with the channels innermost. A factor and a number to add are taken in when they are constants, one
// a channel. Nothing else may read what goes.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_group_norms(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
