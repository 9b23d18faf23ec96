// What gather and scatter check of their arguments. Shared by every set of kernels.
#pragma once

#include "kernels/portable/index_reader.h"

namespace berth::portable {

/// gather(self, dim, index, sparse_grad, out): gives `out` the sizes of the index. `*dim` counts from the front.
Error prepare_gather(KernelContext& context, Span<EValue* const> args, int* dim);

/// scatter(self, dim, index, src or value, out): `src` is null where there is none. Leaves `out` as it is: its sizes
/// are those of self.
Error check_scatter(KernelContext& context, Span<EValue* const> args, const Tensor* src, const Tensor& out, int* dim);

}  // namespace berth::portable
