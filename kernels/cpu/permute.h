// Copies of f32 and of bytes into another order of dimensions that merge two to four streams into one or take one
// apart, as channel shuffles and images with few channels do; all others go to the portable kernels, which have a way
// for each.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error permute_copy_out(KernelContext& context, const arguments::permute_copy_out& args);
Error transpose_copy_out(KernelContext& context, const arguments::transpose_copy_int_out& args);
Error clone_dim_order_out(KernelContext& context, const arguments::clone_dim_order_out& args);
Error to_dim_order_copy_out(KernelContext& context, const arguments::to_dim_order_copy_out& args);

}  // namespace berth::cpu
