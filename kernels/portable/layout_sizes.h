// What view, squeeze, repeat, roll, glu, cat and stack make of their arguments: the sizes of the result, checked before
// an element moves. Shared by every set of kernels, so that all of them refuse the same things in the same words.
#pragma once

#include <cstdint>

#include "kernels/portable/layout_arguments.h"
#include "runtime/arguments.h"

namespace berth::portable {

/// view_copy: the sizes in `list`, of which one may be -1, for the dimension that takes what is left. InvalidArgument
/// when they do not come to as many elements as `self` has.
Error read_view(KernelContext& context, const Tensor& self, IntList list, Sizes* out);

/// squeeze_copy: the sizes of `self` without those dimensions of `dims` that are 1. InvalidArgument for one that is out
/// of range or named twice.
Error read_squeeze(KernelContext& context, const Tensor& self, const Integers& dims, Sizes* out);

/// unsqueeze_copy: the sizes of `self` with a 1 before dimension `dim`, which counts in the result.
Error read_unsqueeze(KernelContext& context, const Tensor& self, int64_t dim, Sizes* out);

/// repeat: the sizes of `self`, aligned at the last dimension, times `repeats`, which has an entry a dimension of the
/// result.
Error read_repeat(KernelContext& context, const Tensor& self, IntList list, Integers* repeats, Sizes* out);

/// roll: how far each dimension of `self` rolls, in [0, its size); one named twice rolls twice. Without any `dims`,
/// shift_of[0] is how far all elements roll as one row, in [0, their number).
///
/// `shift_of` has kMaxRank entries.
Error read_roll(KernelContext& context, const Tensor& self, IntList shifts, IntList dims, bool* as_one_row,
                int64_t* shift_of);

/// glu: the sizes of `self` with one dimension halved, which must have an even size; `*dim` is that, from the front.
Error read_glu(KernelContext& context, const Tensor& self, int64_t wanted_dim, int* dim, Sizes* out);

/// What cat passes over, as PyTorch does: the empty tensor of the days before tensors of other ranks could be empty.
inline bool is_legacy_empty(const Tensor& tensor) { return tensor.rank() == 1 && tensor.numel() == 0; }

/// cat: checks that `parts` are tensors that fit together and can be converted to the dtype of `out`, which gets its
/// sizes, and that all have memory. `*dim` is the dimension that they are joined along, from the front.
Error prepare_cat(KernelContext& context, TensorList parts, int64_t wanted_dim, Tensor& out, int* dim);

/// stack: the same for tensors of one size; `*dim` is the dimension of `out` that counts them.
Error prepare_stack(KernelContext& context, TensorList parts, int64_t wanted_dim, Tensor& out, int* dim);

}  // namespace berth::portable
