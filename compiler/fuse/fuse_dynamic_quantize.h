// fuse_dynamic_quantize: what the ONNX importer makes of DynamicQuantizeLinear (compiler/import/onnx/quantize.cc) in
// two passes over the tensor, where it was seven.
//
//     %low = clamp(amin(%x), max 0), %high = clamp(amax(%x), min 0)
//     %range = %high - %low, %s = masked_fill(%range / 255, %range == 0, 1)
//     %z = cast(round(clamp(-(%low / %s), 0, 255))) to u8
//     %q = cast(clamp(round(%x / %s) + cast(%z), 0, 255)) to u8        →   %q, %s, %z = berth::dynamic_quantize(%x)
//
// The same bits.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_dynamic_quantize(ir::Module& module, const Targets& targets,
                                                const passes::Options& options);

}  // namespace berth::fuse
