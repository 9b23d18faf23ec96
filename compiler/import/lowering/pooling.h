// Poolings. ATen's kernels support two spatial dimensions, equal padding on both sides of at most half a window, and,
// for averages, no dilation. One dimension becomes two; three are pooled as two and then the first (largest and sum are
// separable); other padding is done first, with the averages' divisors worked out here.
#pragma once

#include "compiler/import/lowering/window.h"

namespace berth::lowering {

struct MaxPool {
  ValueId values;
  ValueId indices;  // within each plane; none where ATen's kernel cannot give them
};

/// `x` is [N, C, spatial…] with one to three spatial dimensions.
MaxPool max_pool(Lowering& n, ValueId x, const Window& window);
/// Averages over the elements of each window, with or without the padding. A `divisor` other than 0 replaces their
/// number.
ValueId average_pool(Lowering& n, ValueId x, const Window& window, bool include_padding, int64_t divisor = 0);
/// Sums over each window, dilated ones too; a window without ceil (see resolve_ceil).
ValueId sum_pool(Lowering& n, ValueId x, const Window& window);
/// `window` with ends such that windows counted downwards are those that `ceil` counts, and no ceil.
Window resolve_ceil(Lowering& n, ValueId x, Window window);

}  // namespace berth::lowering
