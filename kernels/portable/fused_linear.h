// The arguments of berth::linear, checked once for every kernel of it.
#pragma once

#include "kernels/portable/arguments.h"
#include "kernels/portable/fused_activation.h"
#include "kernels/portable/gemm.h"

namespace berth::portable {

/// Checks packing (none), dtypes, sizes and memory of all arguments and sets the sizes of the output. The
/// weight may have 16 bits.
Error prepare_linear(KernelContext& context, const arguments::fused_linear_out& args, Activation* activation);

/// input @ weight + residual, without bias and activation. REQUIRES: prepare_linear() succeeded.
Product linear_product(const arguments::fused_linear_out& args);

}  // namespace berth::portable
