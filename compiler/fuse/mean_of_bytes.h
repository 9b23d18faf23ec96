// mean_of_bytes: the mean of dequantised integers of 8 bits, as that of the integers.
//
//     %x = dequantise(%q: u8), %m = aten::mean.dim(%x, dims, …)
//          →   %n: f32 = aten::mean.dim(%q, dims, …, f32), %m = (%n - zero point) * scale
//
// Sums of up to 2^16 bytes are exact, so that the mean is rounded once, and no floats of the whole image are written:
// those before the global pooling were the peak of small quantised networks.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> mean_of_bytes(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
