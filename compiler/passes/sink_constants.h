// sink_constants: what is computed from constants alone stands before the first node that reads it.
//
//     %w: f32[64,3] = dim_order_ops::_to_dim_order_copy(@q: i8[64,3], …)        %a = aten::relu(%x)
//     %a = aten::relu(%x)                                                  →    %w: f32[64,3] = …
//     %y = aten::mm(%a, %w)                                                     %y = aten::mm(%a, %w)
//
// What products in the body of a loop or a branch alone read goes into it, for the same reason.
//
// Models that are quantised begin with the dequantisation of all weights. The delegate that reads a weight must have
// the nodes that make it, to compute with the integers or to fold them; a delegate's part is formed in the order of the
// nodes.
#pragma once

#include "compiler/passes/pass.h"

namespace berth::passes {

/// Where Options::keep_quantized; otherwise folding has left nothing that is worth it.
Expected<Changed> sink_constants(ir::Module& module, const Options& options);

}  // namespace berth::passes
