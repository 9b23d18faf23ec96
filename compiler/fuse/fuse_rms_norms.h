// fuse_rms_norms: rows divided by the root of the mean of their squares, which no model format of ours has as one
// operator everywhere.
//
//     %v = aten::mean.dim(aten::mul.Tensor(%x, %x), [-1], true)     or of aten::pow.Tensor_Scalar(%x, 2)
//     %s = aten::rsqrt(aten::add.Tensor(%v, 1e-5))
//     %n = aten::mul.Tensor(%x, %s)                                 or a quotient of %x and the root
//     %y = aten::mul.Tensor(%n, %w)
//          →   %y = berth::rms_norm(%x, %w, 1e-5)
//
// Over the channels of an image, too. A factor is taken in when it is a constant, one a column. Only %x may be read by
// others. In delegates of cpu and sim, which have a kernel.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_rms_norms(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
