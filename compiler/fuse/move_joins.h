// What move_permutes moves that looks at several elements: concatenations, and norms over groups of channels.
//
//     %f: f32[1,5,4,6,6] = aten::view_copy(%c: f32[5,4,6,6], …)            frames out of a convolution
//     %p: f32[1,4,5,6,6] = aten::permute_copy(%f, [0, 2, 1, 3, 4])
//     %y, … = aten::native_group_norm(%p, %w, %b, 1, 4, 180, 2, …)
//          →   %y = permute(view(frames of aten::native_group_norm(%i, …)))
//
// where %i, [1,4,30,6], is an image as wide as a frame and as high as all of them: with its channels innermost it has
// the bytes of the frames as they lie. For targets that have them there.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// For a visitor of rewrite_regions(): the concatenation before what moved all its parts in the same way.
Expected<passes::Action> move_concatenation(Context& context, ir::Builder& build, ir::NodeId id);

/// For a visitor of rewrite_regions(): the norm of what convolutions of frames give, as that of an image.
Expected<passes::Action> move_group_norm(Context& context, ir::Builder& build, ir::NodeId id);

}  // namespace berth::fuse
