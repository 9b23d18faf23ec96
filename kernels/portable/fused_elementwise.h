// The arguments of berth::elementwise, checked once for every kernel of it.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Checks the code (format/elementwise_code.h), dtypes, sizes and memory of all arguments and sets the sizes of the
/// output. Sets `*flat` to whether all tensors have the output's sizes and order in memory.
Error prepare_elementwise(KernelContext& context, const arguments::fused_elementwise_out& args, bool* flat);

}  // namespace berth::portable
