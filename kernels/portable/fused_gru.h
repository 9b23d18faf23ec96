// The arguments of berth::gru, checked once for every kernel of it.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Checks dtypes, sizes and memory of all arguments and sets the sizes of the output.
Error prepare_gru(KernelContext& context, const arguments::fused_gru_out& args);

}  // namespace berth::portable
