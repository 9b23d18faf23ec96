// What kernels of rows share with others of this room. Private to backends/vulkan/kernels/.
#pragma once

#include "kernels/portable/reduce_plan.h"
#include "runtime/kernel.h"

namespace berth::vulkan {

/// The means of floats over `dims`, in `out`, which gets its sizes.
Error mean_of_rows(KernelContext& context, const Tensor& self, const portable::ReducedDims& dims, Tensor& out);

}  // namespace berth::vulkan
