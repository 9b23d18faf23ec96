// take_columns: columns of a matrix product that nothing reads are not computed.
//
//     %m = aten::mm(%x, @w)                                  [64,512]
//     %r = aten::slice_copy.Tensor(%m, 1, 0, 256, 1)         nothing else reads %m
//          →   %r = aten::mm(%x, aten::slice_copy.Tensor(@w, 1, 0, 256, 1))
//
// Of a Fourier transform whose real part alone is read, that is half. Weights that others read as well are not cut
// where that would make the file larger by more than a mebibyte.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> take_columns(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
