// fuse_elementwise: chains of element-wise operators in one loop.
//
//     %a = aten::mul.Tensor(%x, %g)
//     %b = aten::add.Tensor(%a, %y)
//     %c = aten::relu(%b)              →   %c = berth::elementwise([%x, %g, %y], code, [])
//
// Steps whose result one node alone reads, and that is as large as the end's, are taken along, as far as
// format/elementwise_code.h has room. Inputs may be stretched. A single operator stays what it is.
#pragma once

#include "compiler/fuse/context.h"

namespace berth::fuse {

Expected<passes::Changed> fuse_elementwise(ir::Module& module, const Targets& targets, const passes::Options& options);

}  // namespace berth::fuse
