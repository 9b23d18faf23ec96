// split_concatenations: a convolution over joined channels is the sum of convolutions over the parts.
//
//     %j = aten::cat([%a, %b], 1)
//     %y = berth::conv(%j, %w, %bias, …, "relu")      →   %s = berth::conv(%a, %w: first channels, …, "none")
//                                                         %y = berth::conv(%b, %w: others, %bias, %s, …, "relu")
//
// With the channels innermost a concatenation is a copy of everything, which this saves; the sum is a residual, which
// is added where it lies. Done where the convolution alone reads the whole, and its result is no larger than that: then
// less is moved than before. Max pooling may stand between: each part is pooled. For targets with channels-last images.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> split_concatenations(ir::Module& module, const Targets& targets,
                                               const passes::Options& options);

}  // namespace berth::fuse
