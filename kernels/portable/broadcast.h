// Sizes: broadcasting, dimension arguments, and outputs resized to what a kernel makes.
#pragma once

#include <cstdint>

#include "runtime/kernel.h"

namespace berth::portable {

/// Sizes of up to kMaxRank dimensions, by value.
struct Sizes {
  int rank = 0;
  int32_t data[kMaxRank];

  Span<const int32_t> span() const { return {data, static_cast<size_t>(rank)}; }
};

/// Whether `a` and `b` have the same sizes, and their elements the same order in memory: element i of one stands for
/// the same index as element i of the other.
bool same_layout(const Tensor& a, const Tensor& b);

bool same_sizes(const Tensor& a, const Tensor& b);

/// Merges `more` into `*sizes` by the broadcasting rules (aligned at the last dimension; 1 stretches). False when they
/// do not match.
bool broadcast_sizes(Span<const int32_t> more, Sizes* sizes);

/// Resizes `out`, with a message when it cannot take these sizes.
Error resize_out(KernelContext& context, Tensor& out, Span<const int32_t> sizes);

/// Resizes `out` to the sizes that `inputs` broadcast to. Null inputs are skipped.
Error resize_broadcast(KernelContext& context, Tensor& out, Span<const Tensor* const> inputs);

/// `dim` counted from the front: -1 is the last. False when it is out of range. A tensor of rank 0 takes -1 and 0.
bool normalize_dim(int64_t dim, int rank, int* out);

}  // namespace berth::portable
