// What gather and scatter check of their arguments. Shared by every set of kernels.
#pragma once

#include "kernels/portable/arguments.h"
#include "kernels/portable/index_reader.h"

namespace berth::portable {

/// Gives `out` the sizes of the index. `*dim` counts from the front.
Error prepare_gather(KernelContext& context, const arguments::gather_out& args, int* dim);

/// `src` is null for a scatter of one value. Leaves `out` as it is: its sizes are those of self.
Error check_scatter(KernelContext& context, const Tensor& self, int64_t wanted_dim, const Tensor& index,
                    const Tensor* src, const Tensor& out, int* dim);

}  // namespace berth::portable
