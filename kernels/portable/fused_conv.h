// The arguments of berth::conv, checked once for every kernel of it.
#pragma once

#include "kernels/portable/arguments.h"
#include "kernels/portable/conv_arguments.h"
#include "kernels/portable/fused_activation.h"

namespace berth::portable {

/// Checks packing (none), dtypes and sizes of all arguments and the residual's memory, and sets the sizes of the
/// output. The weight may have 16 bits where all else is f32. The convolution has no strides yet
/// (read_convolution_strides).
Error read_fused_conv(KernelContext& context, const arguments::fused_conv_out& args, Convolution* convolution,
                      Activation* activation);

}  // namespace berth::portable
