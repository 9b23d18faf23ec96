// self[indices], the way NumPy and PyTorch read it: what index and index_put share.
//
// Index tensors (i32, i64; negative ones count from the end) broadcast to one another; a mask (bool, u8) stands for the
// coordinates of its nonzero elements and takes as many dimensions as it has. The broadcast dimensions take the place
// of the indexed ones when those are neighbours, and stand in front when they are not:
//
//   self [A,B,C,D]   [None, i, j]    → [A, …i…, D]
//                    [i, None, j]    → […i…, B, D]
//   self [A,B]       [mask of [A,B]] → [number of nonzeros]
#pragma once

#include <cstdint>

#include "kernels/portable/copy_strided.h"
#include "kernels/portable/index_reader.h"
#include "runtime/arguments.h"

namespace berth::portable {

class TensorIndices {
 public:
  /// Checks `list` against the sizes of `self`, the tensor whose strides for_each() gets. The list of a mask's
  /// positions is taken from the context's temporary memory.
  Error read(KernelContext& context, const Tensor& self, OptionalTensorList list);

  /// The sizes of self[indices].
  const Sizes& result() const { return result_; }

  /// Elements of self[indices].
  int64_t result_count() const;

  /// How many positions the indices name: the product of the broadcast dimensions.
  int64_t positions() const { return positions_; }

  /// Adds the dimensions that are not indexed to `copy`: from self to the result when `to_result`, else back.
  /// `self_strides` and `result_strides` have one entry a dimension of self and of the result.
  void add_slab(const int64_t* self_strides, const int64_t* result_strides, bool to_result, StridedCopy* copy) const;

  /// Calls `f(dimension of self, dimension of the result, size)` for the dimensions that are not indexed.
  template <typename F>
  void for_each_kept(F&& f) const {
    for (int i = 0; i < kept_; ++i) f(kept_self_[i], kept_result_[i], int64_t{result_.data[kept_result_[i]]});
  }

  /// Calls `move(self_offset, result_offset)`, in elements, for positions [begin, end) in row-major order of the
  /// broadcast dimensions. False, and no further calls, when an index is out of range.
  template <typename Move>
  bool for_each(const int64_t* self_strides, const int64_t* result_strides, int64_t begin, int64_t end,
                Move&& move) const {
    const int64_t width = shape_.rank == 0 ? 1 : shape_.data[shape_.rank - 1];
    while (begin < end) {
      const int64_t left = width - begin % width;
      const int64_t count = left < end - begin ? left : end - begin;
      int64_t starts[kMaxRank];
      for (int k = 0; k < count_; ++k) starts[k] = offset_of(indices_[k].strides, begin);
      const int64_t result = offset_of(result_strides + front_, begin);
      const int64_t step = shape_.rank == 0 ? 0 : result_strides[front_ + shape_.rank - 1];
      for (int64_t i = 0; i < count; ++i) {
        int64_t offset = 0;
        if (!self_offset(self_strides, starts, i, &offset)) return false;
        move(offset, result + i * step);
      }
      begin += count;
    }
    return true;
  }

 private:
  // An index tensor, or the positions of a mask.
  struct Index {
    IndexReader reader;
    int dim = 0;                // of self; not used for a mask
    int64_t size = 0;           // of that dimension
    bool is_mask = false;       // the reader gives offsets into self
    int64_t strides[kMaxRank];  // over the broadcast dimensions
    int64_t step = 0;           // the last of them
  };

  Error read_index(KernelContext& context, const Tensor& self, const Tensor& index, int dim);
  Error read_mask(KernelContext& context, const Tensor& self, const Tensor& mask, int dim);
  Error broadcast(KernelContext& context, Span<const int32_t> sizes);
  Error arrange(KernelContext& context, const Tensor& self);
  int64_t offset_of(const int64_t* strides, int64_t position) const;

  // Where the indices point, `i` positions after those that stand at `starts`. False when one is out of range.
  bool self_offset(const int64_t* self_strides, const int64_t* starts, int64_t i, int64_t* offset) const {
    for (int k = 0; k < count_; ++k) {
      const Index& index = indices_[k];
      int64_t at = index.reader[starts[k] + i * index.step];
      if (index.is_mask) {
        *offset += at;
        continue;
      }
      if (at < -index.size || at >= index.size) return false;
      if (at < 0) at += index.size;
      *offset += at * self_strides[index.dim];
    }
    return true;
  }

  int count_ = 0;
  Index indices_[kMaxRank];
  Sizes own_sizes_[kMaxRank];  // of each index, before broadcasting
  Sizes shape_;                // the broadcast dimensions
  int64_t positions_ = 1;
  bool indexed_[kMaxRank] = {};  // dimensions of self
  int front_ = 0;                // where the broadcast dimensions stand in the result
  Sizes result_;
  int kept_ = 0;               // dimensions of self that are not indexed
  int kept_self_[kMaxRank];    // their numbers in self
  int kept_result_[kMaxRank];  // and in the result
};

/// For TempBytesFunction: the bytes that read() may take for the masks in `list`.
size_t mask_temp_bytes(OptionalTensorList list);

}  // namespace berth::portable
