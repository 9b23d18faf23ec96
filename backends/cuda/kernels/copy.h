// Elements moved from one place of the device's memory to another, whatever their dtype.
#pragma once

#include "kernels/portable/iterate.h"
#include "kernels/portable/layout_slice.h"
#include "kernels/portable/pad.h"

namespace berth::cuda {

/// Copies a box of the given sizes between two places; strides in elements, zero and negative ones of the source
/// included. No two elements have the same target; the boxes do not overlap, unless they are the very same memory.
Error copy_box(KernelContext& context, size_t element_bytes, Span<const int32_t> sizes, const void* from,
               Span<const int64_t> from_strides, void* to, Span<const int64_t> to_strides);

/// All elements of `from` to the same indices of `to`, which has the same sizes and element size.
Error copy_tensor(KernelContext& context, const Tensor& from, Tensor& to);

/// Element i of `from` to place (i + shift) modulo their number of `to`, counted in the row-major order of each,
/// whatever their sizes. REQUIRES: as many elements and the same element size.
Error copy_in_order(KernelContext& context, const Tensor& from, Tensor& to, int64_t shift);

/// `from` again and again in each dimension of `to`, whose sizes are multiples of those of `from`, aligned at the last
/// dimension.
Error repeat_tensor(KernelContext& context, const Tensor& from, Tensor& to);

/// The box of `self` to all of `out`, which gets its sizes; and all of `src` to the box of `out`.
Error take_box(KernelContext& context, const Tensor& self, const portable::SubBox& box, Tensor& out);
Error put_box(KernelContext& context, const Tensor& src, const portable::SubBox& box, Tensor& out);

/// Every element of `out` becomes `value`, which has out's element size.
Error fill(KernelContext& context, const void* value, Tensor& out);

/// `self` with padding around it to `out`, which has its sizes. `value` is an element, read in mode kConstant.
Error pad_tensor(KernelContext& context, const Tensor& self, const portable::Padding& padding, portable::PadMode mode,
                 const void* value, Tensor& out);

/// In the last two dimensions, elements above the diagonal become zero. REQUIRES: same sizes; rank 2 or more.
Error lower_triangle(KernelContext& context, const Tensor& self, int64_t diagonal, Tensor& out);

}  // namespace berth::cuda
