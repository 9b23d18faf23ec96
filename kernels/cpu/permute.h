// Copies of f32 into another order of dimensions that merge two to four streams into one or take one apart, as channel
// shuffles and images with few channels do; all others go to the portable kernels, which have a way for each.
#pragma once

#include "runtime/kernel.h"

namespace berth::cpu {

Error permute_copy_out(KernelContext& context, Span<EValue* const> args);
Error transpose_copy_out(KernelContext& context, Span<EValue* const> args);
Error clone_dim_order_out(KernelContext& context, Span<EValue* const> args);
Error to_dim_order_copy_out(KernelContext& context, Span<EValue* const> args);

}  // namespace berth::cpu
