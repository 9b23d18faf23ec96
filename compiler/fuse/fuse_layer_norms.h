// fuse_layer_norms: layer norm as files without that operator write it, such as ONNX's before opset 17.
//
//     %m = aten::mean.dim(%x: f32[4,20,64], [-1], true)
//     %d = aten::sub.Tensor(%x, %m)
//     %v = aten::mean.dim(aten::mul.Tensor(%d, %d), [-1], true)     or aten::var.correction(%x, [-1], 0, true)
//     %s = aten::sqrt(aten::add.Tensor(%v, 1e-5))
//     %n = aten::div.Tensor(%d, %s)                                 or a product with 1 / %s
//     %y = aten::add.Tensor(aten::mul.Tensor(%n, %w), %b)
//          →   %y = aten::native_layer_norm(%x, [64], %w, %b, 1e-5)
//
// Over the channels of an image, too: its pixels are rows once the channels are innermost, where channels_last has them
// anyway. A factor and a number to add are taken in when they are constants, one a column. Nothing else may read what
// goes.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_layer_norms(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
