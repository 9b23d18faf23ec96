// What the kernels that move elements check before they touch one: every number here may come from a hostile file.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kernels/portable/broadcast.h"
#include "runtime/arguments.h"

namespace berth::portable {

/// Integers of a list argument, by value.
struct Integers {
  static constexpr int kMax = 2 * kMaxRank;
  int count = 0;
  int64_t data[kMax];

  int64_t operator[](int i) const { return data[i]; }
};

/// Reads a list of at most Integers::kMax integers; InvalidArgument for a longer one. None reads as an empty list.
Error read_integers(KernelContext& context, const std::optional<IntList>& list, Integers* out);

/// Reads a list of sizes; InvalidArgument when one is negative or over 2^31 - 1, or there are more than kMaxRank.
Error read_sizes(KernelContext& context, IntList list, Sizes* out);

/// Appends a dimension to `*sizes`. False when there are kMaxRank already, or `size` is negative or over 2^31 - 1.
bool push_size(Sizes* sizes, int64_t size);

/// The sizes of `tensor`.
Sizes sizes_of(const Tensor& tensor);

/// Where element `index`, counted in logical row-major order, lies in memory, in elements.
/// REQUIRES: 0 <= index < tensor.numel()
int64_t element_offset(const Tensor& tensor, int64_t index);

/// InvalidState when a tensor that has elements has no memory.
Error check_memory(KernelContext& context, const Tensor& tensor);
Error check_memory(KernelContext& context, const Tensor& a, const Tensor& b);

/// InvalidArgument unless both have the same dtype, one that has whole bytes an element.
Error check_same_dtype(KernelContext& context, const Tensor& self, const Tensor& out);

/// What most of these kernels begin with: `self` and `out` have the same dtype, `out` takes `sizes`, and both have
/// memory.
Error prepare_out(KernelContext& context, const Tensor& self, Tensor& out, const Sizes& sizes);

/// `dim` of `tensor` counted from the front; InvalidArgument with a message when it is out of range.
Error read_dim(KernelContext& context, int64_t dim, const Tensor& tensor, int* out);

}  // namespace berth::portable
