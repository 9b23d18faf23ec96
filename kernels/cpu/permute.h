// permute_copy and transpose_copy of f32 that merge two streams into one or take one apart, as channel shuffles do; all
// others go to the portable kernels, which have a way for each.
#pragma once

#include "runtime/kernel.h"

namespace berth::cpu {

Error permute_copy_out(KernelContext& context, Span<EValue* const> args);
Error transpose_copy_out(KernelContext& context, Span<EValue* const> args);

}  // namespace berth::cpu
