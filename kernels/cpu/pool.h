// Poolings with the channels innermost (pool_last.h); what is not f32 in that order goes to the portable kernels, and
// so does max pooling whose indices somebody reads.
#pragma once

#include "runtime/kernel.h"

namespace berth::cpu {

Error max_pool2d_out(KernelContext& context, Span<EValue* const> args);
Error avg_pool2d_out(KernelContext& context, Span<EValue* const> args);
Error adaptive_avg_pool2d_out(KernelContext& context, Span<EValue* const> args);

}  // namespace berth::cpu
