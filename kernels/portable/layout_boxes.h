// The boxes (layout_slice.h) that permute, expand, narrow, diagonal, flip and split name, read from their arguments and
// checked. Shared by every set of kernels: each moves the elements of a box in its own way.
#pragma once

#include "kernels/portable/arguments.h"
#include "kernels/portable/layout_slice.h"

namespace berth::portable {

/// permute_copy: dimension d of the box is dimension dims[d] of `self`. InvalidArgument unless `list` names every
/// dimension once.
Error read_permute(KernelContext& context, const Tensor& self, IntList list, SubBox* out);

/// transpose_copy: two dimensions change places.
Error read_transpose(KernelContext& context, const Tensor& self, int64_t dim0, int64_t dim1, SubBox* out);

/// t_copy: a matrix transposed; what has less dimensions as it is.
Error read_t(KernelContext& context, const Tensor& self, SubBox* out);

/// expand_copy: dimensions of size 1, and new ones in front, that are read again and again; -1 keeps a size.
Error read_expand(KernelContext& context, const Tensor& self, IntList list, SubBox* out);

/// narrow_copy: `length` entries of a dimension from `start` on, which may count from the end.
Error read_narrow(KernelContext& context, const Tensor& self, int64_t dim, int64_t start, int64_t length, SubBox* out);

/// diagonal_copy: a diagonal of two dimensions becomes the last one; above the main diagonal when `offset` is positive.
Error read_diagonal(KernelContext& context, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2,
                    SubBox* out);

/// flip: the dimensions in `list` backwards, with negative strides.
Error read_flip(KernelContext& context, const Tensor& self, IntList list, SubBox* out);

/// How a set of kernels copies a box of `self` to all of `out`, which gets its sizes: copy_from_box(), for one.
using MoveBox = Error (*)(KernelContext& context, const Tensor& self, const SubBox& box, Tensor& out);

// The operators that take a tensor apart into those of a list, with their arguments as in the operator table. Nothing
// has moved when the list does not have as many tensors as there are pieces.

Error split_copy(KernelContext& context, const arguments::split_copy_Tensor_out& args, MoveBox move);
Error split_with_sizes_copy(KernelContext& context, const arguments::split_with_sizes_copy_out& args, MoveBox move);
Error unbind_copy(KernelContext& context, const arguments::unbind_copy_int_out& args, MoveBox move);

}  // namespace berth::portable
