// berth::gru: all steps of a gated recurrent unit in one go: the weight stays in the caches of the threads, and no step
// is an instruction of its own. Other dtypes and orders than dense f32 go to the portable kernel, which defines it.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error gru_out(KernelContext& context, const arguments::fused_gru_out& args);
size_t gru_temp_bytes(const arguments::fused_gru_out& args, int threads);

}  // namespace berth::cpu
