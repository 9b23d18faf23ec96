// Convolutions by rows: a convolution of single channels takes in the convolution of single pixels before it, the one
// behind it, or both, so that what is between them, the widest images of MobileNet, EfficientNet and their like, is
// never whole (for the cpu target):
//
//     %wide = berth::conv(%image, %w1 [96, 16, 1, 1], …, "clamp", …)
//     %seen = berth::conv(%wide, %w2 [96, 1, 3, 3], …, groups=96, "clamp", …)
//     %out  = berth::conv(%seen, %w3 [24, 96, 1, 1], …)
//   →
//     %out  = berth::inverted_residual(%image, %w1, …, %w2, …, %w3, …)
//
// Where the image between two is small, it stays in the caches anyhow, and the weights would be read again for each few
// rows: then the convolutions stay as they are, as with open sizes. Weights may be packed already: each stays as it is.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_bottlenecks(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
