// StridedCopy: what permutes, slices, expansions, flips, concatenations and pads come down to.
//
// Two boxes of the same sizes lie in memory, each with a stride of its own a dimension; every element of one moves to
// its place in the other. How it is done depends on the strides alone, never on the dtype:
//
//   dimensions of size 1 go; the others are ordered by where they write, the farthest stride first; neighbours that
//   are one run in both boxes become one dimension; a short inner run (2, 4, 8, 16 bytes) becomes one element. Then
//
//     rows        the inner dimension is dense on both sides         memcpy a row
//     interleave  it is short, as the channels of an image           2, 3 or 4 streams merged in one loop
//     fill        it reads one element again and again               one element stored along the row
//     transpose   the source is dense along another dimension        square tiles, transposed in registers
//     elements    anything else                                      one element at a time
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernel.h"

namespace berth::portable {

class StridedCopy {
 public:
  /// Twice the rank of a tensor, for copies that split each dimension in two (repeat, view).
  static constexpr int kMaxDims = 2 * kMaxRank;

  /// `element_bytes` is 1, 2, 4, 8 or 16.
  explicit StridedCopy(size_t element_bytes) : bytes_(static_cast<int64_t>(element_bytes)) {}

  /// One more dimension, with strides in elements. `from` may be zero (the same elements again) or negative; `to` is
  /// positive when `size` > 1, and no two elements have the same place.
  ///
  /// REQUIRES: fewer than kMaxDims dimensions so far; size >= 0; every address that the strides reach is inside the
  /// caller's memory.
  void add(int64_t size, int64_t from, int64_t to);

  /// Chooses the way. Called once, after the last add() and before run().
  void prepare();

  /// Copies on this thread; `from` and `to` are the places of element (0, 0, …). A prepared copy may run often, with
  /// other places. The boxes do not overlap, unless they are the very same memory with the same strides.
  void run(const void* from, void* to) const;

  /// The same on the context's threads, when it is large enough.
  void run(KernelContext& context, const void* from, void* to) const;

  /// Bytes that move. After prepare().
  int64_t bytes() const;

  /// Whether all that moves lies in one piece on both sides. After prepare().
  bool is_one_run() const { return is_one_word() || (way_ == Way::kRows && dims_[rank_ - 1].size * bytes_ == bytes()); }

  /// Whether all that moves is one word of bytes() bytes, which a caller with many copies can load and store itself.
  bool is_one_word() const { return bytes() == bytes_; }

 private:
  struct Dim {
    int64_t size;
    int64_t from;  // bytes
    int64_t to;    // bytes
  };
  enum class Way : uint8_t { kNothing, kRows, kFill, kInterleave, kTranspose, kElements };

  void sort();
  void coalesce();
  void widen();
  void choose();
  void remove(int dim);
  void run_rows(const char* from, char* to, int64_t begin, int64_t end) const;
  void run_block(const char* from, char* to, int64_t rows) const;

  int64_t bytes_;
  int rank_ = 0;
  int64_t outer_ = 1;  // product of the sizes before the last two dimensions
  Way way_ = Way::kNothing;
  bool empty_ = false;
  Dim dims_[kMaxDims];
};

/// Copies a box of the given sizes between two places; strides in elements, as for StridedCopy.
void copy_box(KernelContext& context, size_t element_bytes, Span<const int32_t> sizes, const void* from,
              Span<const int64_t> from_strides, void* to, Span<const int64_t> to_strides);

/// Copies all elements of `from` to the same indices of `to`, which has the same sizes and element size. Does nothing
/// when both are the same memory in the same order.
void copy_tensor(KernelContext& context, const Tensor& from, Tensor& to);

}  // namespace berth::portable
