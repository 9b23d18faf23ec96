// Layer norm of contiguous f32, softmax and log_softmax along the dimension that is innermost in memory; anything else
// goes to the portable kernels.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error native_layer_norm_out(KernelContext& context, const arguments::native_layer_norm_out& args);
Error softmax_out(KernelContext& context, const arguments::softmax_out& args);
Error log_softmax_out(KernelContext& context, const arguments::log_softmax_out& args);

}  // namespace berth::cpu
