// The arguments of berth::rms_norm, checked once for every kernel of it.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Checks dtypes, sizes and memory of all arguments and sets the sizes of the output.
Error prepare_rms_norm(KernelContext& context, const arguments::fused_rms_norm_out& args);

}  // namespace berth::portable
