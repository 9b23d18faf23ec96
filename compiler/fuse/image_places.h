// Which views and permutations of images move no byte where the channels are innermost.
//
//     %f: f32[1,8,64,56,56] = aten::view_copy(%c: f32[8,64,56,56], …)      frames out of a convolution
//     %p: f32[1,64,8,56,56] = aten::permute_copy(%f, [0, 2, 1, 3, 4])
//     %i: f32[1,64,8,3136] = aten::view_copy(%p, …)                        an image with a row a frame
//
// Both images have 25088 places of 64 channels, in one order.
#pragma once

#include "compiler/fuse/strided.h"

namespace berth::fuse {

/// An image of `sizes`, [n, c, h, w], as a view of itself.
Strided whole_image(ir::Symbols& symbols, ir::ValueId image, const std::vector<ir::Dim>& sizes);

/// Gives `*moved` its dimensions in this order; false if `order` has other dimensions than it.
bool permute(const std::vector<int64_t>& order, Strided* moved);

/// Whether `moved`, which began as whole_image(), is an image of the same channels at the same places, in one order.
bool keeps_places(ir::Symbols& symbols, const std::vector<ir::Dim>& sizes, const Strided& moved);

}  // namespace berth::fuse
