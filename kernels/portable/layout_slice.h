// The part of a tensor that slice, select, narrow, diagonal and split name: a box inside the tensor's memory.
#pragma once

#include <cstdint>

#include "kernels/portable/layout_arguments.h"
#include "runtime/arguments.h"

namespace berth::portable {

/// A box of elements inside a tensor: its first element and its strides, in elements from the tensor's data.
struct SubBox {
  Sizes sizes;
  int64_t offset = 0;
  int64_t strides[kMaxRank];

  void push(int64_t size, int64_t stride);
  Span<const int64_t> stride_span() const { return {strides, static_cast<size_t>(sizes.rank)}; }
};

/// Elements `start`, `start + step`, … of dimension `dim`, `length` of them; everything of the other dimensions.
/// REQUIRES: 0 <= start; step >= 1; start + (length - 1) * step < tensor.size(dim), unless length is 0.
SubBox slice_of(const Tensor& tensor, int dim, int64_t start, int64_t length, int64_t step);

/// The box at `index` of dimension `dim`, which it does not have any more.
/// REQUIRES: 0 <= index < tensor.size(dim)
SubBox select_of(const Tensor& tensor, int dim, int64_t index);

/// Python's slice: negative bounds count from the end, all are clamped to the size.
/// InvalidArgument when `step` is below 1, or `tensor` has rank 0.
Error read_slice(KernelContext& context, const Tensor& tensor, int64_t dim, std::optional<int64_t> start,
                 std::optional<int64_t> end, int64_t step, SubBox* out);

/// select's box: a negative `index` counts from the end; InvalidArgument when it is out of range.
Error read_select(KernelContext& context, const Tensor& tensor, int64_t dim, int64_t index, SubBox* out);

/// Copies the box of `self` to all of `out`, which gets its sizes.
Error copy_from_box(KernelContext& context, const Tensor& self, const SubBox& box, Tensor& out);

/// Copies all of `src`, of the box's sizes, to the box of `out`. REQUIRES: both have memory and the same dtype.
void copy_to_box(KernelContext& context, const Tensor& src, const SubBox& box, Tensor& out);

}  // namespace berth::portable
