// Layer norm of contiguous f32, softmax and log_softmax along the dimension that is innermost in memory; anything else
// goes to the portable kernels.
#pragma once

#include "runtime/kernel.h"

namespace berth::cpu {

Error native_layer_norm_out(KernelContext& context, Span<EValue* const> args);
Error softmax_out(KernelContext& context, Span<EValue* const> args);
Error log_softmax_out(KernelContext& context, Span<EValue* const> args);

}  // namespace berth::cpu
