// The kernels of this room: one function for each operator of operators.def. Each checks its arguments and asks for
// work of the device (launch.h).
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::vulkan {

KernelTable kernels();

#define KERNEL(identifier, takes) Error identifier(KernelContext& context, const arguments::identifier& args);
#include "backends/vulkan/operators.def"
#undef KERNEL

}  // namespace berth::vulkan
