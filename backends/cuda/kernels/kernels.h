// The kernels of the CUDA device: one function a line of operators.def, with the arguments and the meaning of the
// portable kernel of that name. They read and write memory of the device, which the host must not follow, through the
// queue in KernelContext::user(), and return once their work is queued; numbers and sizes are checked on the host as
// there.
//
// They differ from the portable ones in this: an index out of range and a division of whole numbers by zero are found
// on the device, so that they are reported when something waits for the stream (queue.h), not by the call.
#pragma once

#include "kernels/portable/arguments.h"
#include "runtime/kernel.h"

namespace berth::cuda {

/// All of them. Static storage; no initialisation order.
KernelTable kernels();

#define KERNEL(identifier) Error identifier(KernelContext& context, const arguments::identifier& args);
#include "backends/cuda/operators.def"
#undef KERNEL

}  // namespace berth::cuda
