// berth::dynamic_quantize: one pass for the range, one for the bytes, both on all threads. What lies in another order
// than its input goes to the portable kernel.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error dynamic_quantize_out(KernelContext& context, const arguments::dynamic_quantize_out& args);

}  // namespace berth::cpu
