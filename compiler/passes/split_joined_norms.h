// split_joined_norms: a batch norm of joined channels is one of each part.
//
//     %j = aten::cat([%a, %b], 1)                         %a, %b: convolutions that nothing else reads
//     %y, … = aten::_native_batch_norm_legit_no_training(%j, …)
//     →   %a1 = aten::add.Tensor(aten::mul.Tensor(%a, %scale: first channels), %shift: first channels)
//         …
//         %y = aten::cat([%a1, %b1], 1)
//
// The product and the sum go into the convolution's weight and bias by fold_batch_norm, which runs next: MixNet's and
// other layers of several windows have no norm left. Any node that scales and shifts channels by constants is split so.
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

Expected<Changed> split_joined_norms(ir::Module& module, const Options& options);

}  // namespace berth::passes
