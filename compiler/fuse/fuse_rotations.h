// fuse_rotations: the rotated half of rotary position embeddings (Su et al., RoFormer, 2021) as one roll of the row.
//
//     %a = aten::slice_copy(%x, -1, 0, h)
//     %b = aten::slice_copy(%x, -1, h)
//     %c = aten::cat([aten::neg(%b), %a], -1)             %t = aten::mul(%sin, [-1, …, -1, 1, …, 1])
//     %y = aten::mul(%c, %sin)                      →     %y = aten::mul(aten::roll(%x, h), %t)
//
// The signs move into the sines, which all heads share, and often all layers. The result has the same bits: changing a
// sign is exact.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_rotations(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
