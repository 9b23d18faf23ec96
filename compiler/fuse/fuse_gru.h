// fuse_gru: the steps of a GRU that was written out, in one operator.
//
//     %p = aten::addmm(%b, %h, %w)                         [batch, 3 * size]
//     %z, %r = sigmoid(%x_t: z, r + %p: z, r)
//     %n = tanh(%x_t: n + %r * %p: n)
//     %h1 = (1 - %z) * %n + %z * %h
//     …
//     %all = aten::cat([%h1, %h2, …], 0)                   →   %all = berth::gru(%x, %h, %w', %b, …)
//
// The reset gate may stand before or behind the update gate, and be applied to the state before the product. Where the
// first state is a constant, the compiler has computed the first step's product, which must be the layer's. Steps whose
// rows do not lie one after another, from the first on or from the last, become operators of one step each.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_gru(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
