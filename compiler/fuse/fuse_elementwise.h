// fuse_elementwise: chains of element-wise operators in one loop.
//
//     %a = aten::mul.Tensor(%x, %g)
//     %b = aten::add.Tensor(%a, %y)
//     %c = aten::relu(%b)              →   %c = berth::elementwise([%x, %g, %y], code, [])
//
// Steps whose result one node alone reads, and that is as large as the end's, are taken along, as far as
// format/elementwise_code.h has room. Inputs may be stretched. A single operator stays what it is.
//
// Chains of f16 and bf16 compute in f32 and are rounded once, where they end or go on in f32, for targets whose
// products of such numbers are those of f32. A single operator becomes a chain there: it has no other fast kernel.
//
//     %a: f16 = aten::mul.Tensor(%x, %g)
//     %b: f16 = aten::sigmoid(%a)         →   %b: f16 = berth::elementwise([%x, %g], [mul, sigmoid, to f16], [])
//
// What stands between quantised tensors reads and writes bytes (for targets that have kernels for them):
//
//     %f = cast(%q: u8), sub(%f, 128), mul(…, 0.1)
//     %r = relu(…)
//     %s = div(…, 0.2), round, add(…, 7), clamp(…, 0, 255), cast to u8      →   %s: u8 = berth::elementwise([%q], …)
//
// Where several read the numbers that bytes stand for, each reads the bytes. Vulkan's products read numbers alone: what
// is rounded to bytes and made numbers again for one reader is one chain there, which writes the numbers.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_elementwise(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
