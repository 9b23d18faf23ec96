// Element-wise operators on f32, as chains (element_chain.h): berth::elementwise, and those of ATen whose inputs
// stretch in ways that the portable kernels take an element or a short run at a time. Other dtypes go to the portable
// kernels.
#pragma once

#include "runtime/kernel.h"

namespace berth::cpu {

Error elementwise_out(KernelContext& context, Span<EValue* const> args);
Error add_out(KernelContext& context, Span<EValue* const> args);
Error sub_out(KernelContext& context, Span<EValue* const> args);
Error mul_out(KernelContext& context, Span<EValue* const> args);
Error div_out(KernelContext& context, Span<EValue* const> args);

}  // namespace berth::cpu
