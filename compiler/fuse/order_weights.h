// order_weights: constant weights with what a product sums over innermost, where a kernel reads four of that at once.
//
//     berth::conv       [out, in, y, x]    →  the same in the dimension order (0, 2, 3, 1)
//       transposed      [in, out, y, x]    →  (1, 2, 3, 0)
//       of each channel by itself          →  (1, 2, 3, 0): the channels are side by side
//     berth::linear     [in, out]          →  (1, 0)
//
// of berth::quantized_conv and quantized_linear too.
//
// The sizes stay as they are, so that kernels which take any order compute the same. For targets that say so
// (targets::Target::depth_last).
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> order_weights(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
