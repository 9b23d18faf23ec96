// pack_weights: the constant weights of berth::conv, berth::linear and berth::narrow_linear, in the order in which the
// fast kernels read them.
//
// The order is that of kernels/cpu/packing.h for the instruction set of the target (targets::Target::isa): the file
// then holds the weight once, packed, and a text that says how to undo it. What packing does not help stays as it is.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> pack_weights(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
