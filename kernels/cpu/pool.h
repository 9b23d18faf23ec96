// Poolings with the channels innermost (pool_last.h, and pool_bytes.h for the largest of bytes and of bf16); what is
// not f32 in that order goes to the portable kernels, and so does max pooling whose indices are used.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error max_pool2d_out(KernelContext& context, const arguments::max_pool2d_with_indices_out& args);
Error avg_pool2d_out(KernelContext& context, const arguments::avg_pool2d_out& args);
Error adaptive_avg_pool2d_out(KernelContext& context, const arguments::adaptive_avg_pool2d_out& args);

}  // namespace berth::cpu
