// Walk: the elements of several tensors visited in step, whatever their sizes, broadcasting and dimension orders.
//
//   const Tensor* tensors[] = {&out, &self, &other};
//   const Walk walk = walk_broadcast(tensors);        // in the memory order of out
//   for_each_run(walk, 0, walk.count, [&](const int64_t* offsets, int64_t n) {
//     // n elements; operand k starts at element offsets[k] and goes on by walk.step(k)
//   });
//
// Dimensions of size 1 are dropped and neighbours are merged where every operand allows it, so that [N,C,H,W] + [C,1,1]
// becomes N*C runs of H*W elements, and any two tensors of the same layout become one run.
#pragma once

#include <cstdint>

#include "runtime/kernel.h"

namespace berth::portable {

struct Walk {
  static constexpr int kMaxOperands = 4;

  int operands = 0;
  int rank = 1;       // at least 1
  int64_t count = 1;  // product of sizes
  // Outermost first; strides in elements, 0 where the operand is stretched.
  int64_t sizes[kMaxRank];
  int64_t strides[kMaxOperands][kMaxRank];

  /// The walk over a single index; add() makes it longer.
  explicit Walk(int operand_count) : operands(operand_count) {
    sizes[0] = 1;
    for (int k = 0; k < operands; ++k) strides[k][0] = 0;
  }

  /// Puts a dimension inside those there are. `dim_strides` has one entry an operand.
  void add(int64_t size, const int64_t* dim_strides);

  /// The length of a run (the innermost dimension), and how far operand `k` goes from one element of it to the next.
  int64_t inner() const { return sizes[rank - 1]; }
  int64_t step(int k) const { return strides[k][rank - 1]; }

  /// Where each operand stands at position `index` of the walk. REQUIRES: 0 <= index < count.
  void offsets(int64_t index, int64_t* offsets) const;

  /// Whether operand `k` lies in memory exactly in the order of the walk, without gaps.
  bool is_dense(int k) const;
  /// Whether operand `k` is one element all along.
  bool is_splat(int k) const;
};

/// The walk over all elements of `*tensors[0]`, in the order of its memory; the others are broadcast to its sizes.
/// REQUIRES: they do broadcast to them; at most Walk::kMaxOperands tensors.
Walk walk_broadcast(Span<const Tensor* const> tensors);

/// The walk over those dimensions of equally sized tensors whose bit is set in `dims`, in the memory order of
/// `*tensors[0]`.
Walk walk_dims(Span<const Tensor* const> tensors, uint32_t dims);

/// Calls `f(const int64_t* offsets, int64_t n)` for the runs that cover positions [begin, end) of the walk.
/// REQUIRES: 0 <= begin; end <= walk.count.
template <typename F>
void for_each_run(const Walk& walk, int64_t begin, int64_t end, F&& f) {
  if (begin >= end) return;
  const int last = walk.rank - 1;
  int64_t index[kMaxRank];
  int64_t offsets[Walk::kMaxOperands];
  walk.offsets(begin, offsets);
  for (int64_t rest = begin, d = last; d >= 0; --d) {
    index[d] = rest % walk.sizes[d];
    rest /= walk.sizes[d];
  }
  while (true) {
    const int64_t left = walk.inner() - index[last];
    const int64_t n = left < end - begin ? left : end - begin;
    f(static_cast<const int64_t*>(offsets), n);
    begin += n;
    if (begin >= end) return;
    // The run ended with its dimension: back to the dimension's start, and one step in the next outer one.
    for (int k = 0; k < walk.operands; ++k) offsets[k] -= index[last] * walk.strides[k][last];
    index[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      for (int k = 0; k < walk.operands; ++k) offsets[k] += walk.strides[k][d];
      if (++index[d] < walk.sizes[d]) break;
      for (int k = 0; k < walk.operands; ++k) offsets[k] -= walk.sizes[d] * walk.strides[k][d];
      index[d] = 0;
    }
  }
}

/// The stride of dimension `dim` in `tensor` stretched to `rank` dimensions: 0 where it is stretched.
inline int64_t broadcast_stride(const Tensor& tensor, int rank, int dim) {
  const int own = dim - (rank - tensor.rank());
  return own < 0 || tensor.size(own) == 1 ? 0 : tensor.stride(own);
}

/// The walk of operand `k` alone, in the order of `walk`, its own dimensions merged.
Walk operand_walk(const Walk& walk, int k);

/// Copies the elements at positions [begin, begin + n) of a walk with one operand to `target`, one after the other.
/// `base` is the operand's first element; `element_bytes` is 1, 2, 4 or 8.
void gather_elements(const Walk& walk, const void* base, size_t element_bytes, int64_t begin, int64_t n, void* target);

/// The inverse: writes `n` elements from `source` to their places.
void scatter_elements(const Walk& walk, void* base, size_t element_bytes, int64_t begin, int64_t n, const void* source);

}  // namespace berth::portable
