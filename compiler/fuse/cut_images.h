// cut_images: convolutions of bytes that widen an image and bring it back, for some rows at a time:
//
//     %wide = berth::quantized_conv(%image, @w1 [96, 16, 1, 1])   i8[1,96,112,112]    for some rows of %out at a time:
//     %seen = berth::quantized_conv(%wide, @w2 [96, 1, 3, 3])     i8[1,96,56,56]        %some = the rows that they see
//     %out  = berth::quantized_conv(%seen, @w3 [24, 96, 1, 1])    i8[1,24,56,56]   →    %w, %s, %o = those rows
//                                                                                     %out = the parts, joined
//
// Rows that two strips see are computed in both, so that nothing is kept from one to the next; a result is the same
// bits. Rows of an image whose channels are innermost lie one behind the other, so that slices and the concatenation
// are names of parts (memory/sub_buffers.h). What stands between, such as a chain or joined channels, is cut along.
//
// A block is cut where it takes more memory than anything else in its delegate and than what any delegate reads and
// gives, into as few strips as bring it to about that, or to about what strips of four rows take. Other delegates and
// methods are not looked at: a block may be cut although one of them needs more.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> cut_images(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
