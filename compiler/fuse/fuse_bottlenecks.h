// Convolutions by rows: a depthwise convolution is fused with the pointwise convolution before it, the one after it, or
// both, so that the images between them, the widest of MobileNet, EfficientNet and their like, are never whole (for the
// cpu target):
//
//     %wide = berth::conv(%image, %w1 [96, 16, 1, 1], …, "clamp", …)
//     %seen = berth::conv(%wide, %w2 [96, 1, 3, 3], …, groups=96, "clamp", …)
//     %out  = berth::conv(%seen, %w3 [24, 96, 1, 1], …)
//   →
//     %out  = berth::inverted_residual(%image, %w1, …, %w2, …, %w3, …)
//
// A small image between two stays in the caches anyway, and the weights would be read again for every few rows: then
// the convolutions stay as they are, as with dynamic sizes. Weights that are packed already stay so.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_bottlenecks(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
