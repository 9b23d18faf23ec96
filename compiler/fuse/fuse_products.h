// fuse_products: convolutions and matrix products with constant weights, and what follows them.
//
//     %a = aten::convolution(%x, %w, %b, …)
//     %c = aten::add.Tensor(%a, %r)
//     %d = aten::relu(%c)                          →   %d = berth::conv(%x, %w, %b, %r, …, "relu", 0.0, 0.0, "")
//
// A product is moved to where the last of what it takes along stood. Results that others read stay as they are. Views
// between a matrix product and what follows it are looked through; they come after it then.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_products(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
