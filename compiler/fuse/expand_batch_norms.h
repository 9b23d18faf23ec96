// expand_batch_norms: the batch norms that no convolution took in, as a product and a sum.
//
//     %y, … = aten::_native_batch_norm_legit_no_training(%x, %weight, %bias, %mean, %variance, 0.1, eps)
//     →   %m = aten::mul.Tensor(%x, %scale: [C,1,1])
//         %y = aten::add.Tensor(%m, %shift: [C,1,1])
//
// What it reads besides its input are constants, and the numbers are made here, in double. So it becomes a part of an
// element-wise chain, with the activation behind it, and takes images with the channels innermost.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> expand_batch_norms(ir::Module& module, const Targets& targets,
                                             const passes::Options& options);

}  // namespace berth::fuse
