// channels_last: images with the channels innermost, from the first convolution of a delegate to the last.
//
// A convolution takes and gives images in the dimension order (0, 2, 3, 1). What an operator does with that order is
// known by operator:
//
//     gives any order   element-wise operators, pools, means, resampling, cat, split, slice: their images get the order
//                       as soon as one that they read has it
//     everything else   reads row-major images: a copy in that order comes before it, one a value
//
// So copies stand at the borders of the region and around what has no other form. Where the bytes stay where they are
// (one channel, or one place, or a permutation between [n, c, h, w] and [n, h, w, c]) the copy is a view, which costs
// nothing. Padding is that of rows of channels, and so is a slice of some of the images. Three chains of views are done
// in the order itself:
//
//     view [n, g, c, h, w], permute (0, 2, 1, 3, 4), view     a channel shuffle: one permutation of the innermost
//     view [n, c, h * w], permute (0, 2, 1)                   tokens of an image: nothing at all
//     permute (0, 2, 1), view [n, c, h, w]                    an image of tokens that comes to a convolution, perhaps
//                                                             resampled or joined with others: nothing either
//
// and so are all that lead from one image to another whose bytes are the same (image_places.h).
//
// For targets that say so (targets::Target::channels_last). `--why fusion` tells of each copy.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> channels_last(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
