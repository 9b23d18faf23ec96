// Layer norm and RMS norm of contiguous rows, softmax and log_softmax along the dimension that is innermost in memory:
// f32, and but for RMS norm f16 and bf16, which are widened a few rows at a time. Anything else goes to the portable
// kernels.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error native_layer_norm_out(KernelContext& context, const arguments::native_layer_norm_out& args);
size_t native_layer_norm_temp_bytes(const arguments::native_layer_norm_out& args, int threads);
Error rms_norm_out(KernelContext& context, const arguments::fused_rms_norm_out& args);
Error softmax_out(KernelContext& context, const arguments::softmax_out& args);
size_t softmax_temp_bytes(const arguments::softmax_out& args, int threads);
Error log_softmax_out(KernelContext& context, const arguments::log_softmax_out& args);
size_t log_softmax_temp_bytes(const arguments::log_softmax_out& args, int threads);

}  // namespace berth::cpu
