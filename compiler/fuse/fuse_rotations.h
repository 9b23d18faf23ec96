// fuse_rotations: the turned half of rotary position embeddings (Su et al., RoFormer, 2021) in one move of the row.
//
//     %a = aten::slice_copy(%x, -1, 0, h)
//     %b = aten::slice_copy(%x, -1, h)
//     %c = aten::cat([aten::neg(%b), %a], -1)             %t = aten::mul(%sin, [-1, …, -1, 1, …, 1])
//     %y = aten::mul(%c, %sin)                      →     %y = aten::mul(aten::roll(%x, h), %t)
//
// The signs change places with the sines, which are those of all heads, and of all layers that share them. The result has
// the same bits: to change a sign is exact.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_rotations(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
