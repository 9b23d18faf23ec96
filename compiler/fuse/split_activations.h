// split_activations: an activation of joined channels is one of each part.
//
//     %j = aten::cat([%a, %b], 1)          %a, %b: convolutions that nothing else reads
//     %y = aten::relu(%j)                  →   %y = aten::cat([aten::relu(%a), aten::relu(%b)], 1)
//
// So the convolutions take it to their ends (fuse_products), and no pass over the whole is left.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> split_activations(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
