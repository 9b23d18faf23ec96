// Element-wise operators on f32, as chains (element_chain.h): berth::elementwise, and those of ATen whose inputs
// stretch in ways that the portable kernels take an element or a short run at a time. Other dtypes go to the portable
// kernels.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cpu {

Error elementwise_out(KernelContext& context, const arguments::fused_elementwise_out& args);
/// Computes tables of what single bytes become (element_table.h).
Error elementwise_prepare(PrepareContext& context, const arguments::fused_elementwise_out& args, void** state);
void elementwise_release(void* state);

Error add_out(KernelContext& context, const arguments::add_out& args);
Error sub_out(KernelContext& context, const arguments::sub_out& args);
Error mul_out(KernelContext& context, const arguments::mul_out& args);
Error div_out(KernelContext& context, const arguments::div_out& args);

}  // namespace berth::cpu
