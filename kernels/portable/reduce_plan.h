// The way of a reduction through memory: which elements go into which output.
//
// Outputs are visited in the order of their memory, in blocks. A block is one output whose elements are read one run
// after the other (rows), or up to kColumns outputs that lie side by side along with their elements (columns), when
// the dimension that is reduced is not the innermost one in memory, or has few elements:
//
//   rows      sum over the last dimension of [4, 6]       block 0 reads x[0..5], block 1 reads x[6..11], …
//   columns   sum over the first dimension of [4, 6]      block 0 has 6 outputs, reads x[0..5], x[6..11], …
#pragma once

#include <cstdint>

#include "kernels/portable/convert.h"
#include "kernels/portable/iterate.h"
#include "runtime/arguments.h"
#include "runtime/kernel.h"

namespace berth::portable {

/// Which dimensions a reduction removes.
struct ReducedDims {
  uint32_t mask = 0;
  bool keepdim = false;
};

/// Reads a list of dimensions: None or empty for all of them. InvalidArgument for one that is out of range or named
/// twice.
Error read_reduced_dims(KernelContext& context, const std::optional<IntList>& dims, const Tensor& self, uint32_t* mask);
/// One dimension.
Error read_reduced_dim(KernelContext& context, int64_t dim, const Tensor& self, uint32_t* mask);

/// All dimensions of `self`.
inline uint32_t all_dims(const Tensor& self) { return (uint32_t{1} << self.rank()) - 1; }

/// Gives `out` the sizes of `self` without the reduced dimensions (or with 1 in their place).
Error resize_reduced(KernelContext& context, const Tensor& self, const ReducedDims& dims, Tensor& out);

/// Over the outputs, in the order of their memory; operands out, self.
Walk outer_walk(const Tensor& self, const Tensor& out, const ReducedDims& dims);

/// Over the elements of one output; operand self. In the row-major order of their dimensions, or as they lie in memory.
Walk inner_walk(const Tensor& self, uint32_t mask, bool logical_order);

/// Elements of u64 as i64 of the same order, and the other way round.
inline int64_t flipped(int64_t x) { return x ^ INT64_MIN; }
/// The same of the elements that ReducePlan::feed gives. REQUIRES: n <= ReducePlan::kChunk.
struct Flipped {
  Flipped(const void* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) numbers[i] = flipped(static_cast<const int64_t*>(x)[i]);
  }
  int64_t numbers[256];
};

class ReducePlan {
 public:
  /// The most elements that feed() gives at a time where it converts them.
  static constexpr int64_t kChunk = 256;

  static constexpr int64_t kColumns = 128;

  /// Elements are loaded as `compute` (f32, f64 or i64), through `common` when it is another type. `out` has been
  /// resized. `logical_order`: elements come in the row-major order of the reduced dimensions, not as they lie in
  /// memory.
  ReducePlan(const Tensor& self, const Tensor& out, const ReducedDims& dims, DType common, bool logical_order);

  int64_t outputs() const { return outer_.count; }
  /// Elements that go into each output.
  int64_t elements() const { return inner_.count; }
  bool by_columns() const { return columns_; }
  /// How many outputs are work enough for a thread.
  int64_t grain() const { return 16384 / (elements() + 1) + 1; }

  /// Whether the elements of each output lie side by side and are of type `compute`: feed_rows() gives them.
  bool has_dense_rows() const {
    return !columns_ && direct_ && inner_.count > 0 && inner_.count == inner_.inner() && inner_.step(0) == 1;
  }

  /// Calls `f(first, count)` for the blocks that cover outputs [begin, end), numbered in the order of out's memory.
  template <typename F>
  void for_each_block(int64_t begin, int64_t end, F&& f) const {
    cover(begin, end, columns_, f);
  }
  /// The same, but up to kColumns dense rows are one block, for feed_rows().
  template <typename F>
  void for_each_wide_block(int64_t begin, int64_t end, F&& f) const {
    cover(begin, end, columns_ || has_dense_rows(), f);
  }
  /// Calls `f(i, x)` with the elements() elements of each output of a wide block, `i` from 0.
  /// REQUIRES: has_dense_rows().
  template <typename F>
  void feed_rows(int64_t first, int64_t count, F&& f) const {
    int64_t offsets[Walk::kMaxOperands];
    outer_.offsets(first, offsets);
    const char* row = self_.data<char>() + offsets[1] * bytes_;
    for (int64_t i = 0; i < count; ++i) f(i, static_cast<const void*>(row + i * outer_.step(1) * bytes_));
  }

  /// Calls `f(const void* x, int64_t n)` with all elements of a block, of type `compute`. Rows: `n` elements of its one
  /// output. Columns: n == count, an element of each.
  template <typename F>
  void feed(int64_t first, int64_t count, F&& f) const {
    int64_t offsets[Walk::kMaxOperands];
    outer_.offsets(first, offsets);
    const char* base = self_.data<char>() + offsets[1] * bytes_;
    if (columns_) {
      for_each_run(inner_, 0, inner_.count, [&](const int64_t* at, int64_t n) {
        for (int64_t i = 0; i < n; ++i) feed_columns(base + (at[0] + i * inner_.step(0)) * bytes_, count, f);
      });
    } else if (inner_.step(0) == 1 || inner_.count == 1) {
      for_each_run(inner_, 0, inner_.count,
                   [&](const int64_t* at, int64_t n) { feed_dense(base + at[0] * bytes_, n, f); });
    } else {
      feed_gathered(base, f);
    }
  }

 private:
  template <typename F>
  void cover(int64_t begin, int64_t end, bool wide, F& f) const {
    while (begin < end) {
      int64_t count = 1;
      if (wide) {
        count = outer_.inner() - begin % outer_.inner();
        if (count > end - begin) count = end - begin;
        if (count > kColumns) count = kColumns;
      }
      f(begin, count);
      begin += count;
    }
  }

  template <typename F>
  void feed_dense(const char* x, int64_t n, F& f) const {
    if (direct_) return f(static_cast<const void*>(x), n);
    alignas(64) unsigned char loaded[kChunk * 8];
    for (int64_t done = 0; done < n; done += kChunk) {
      const int64_t count = n - done < kChunk ? n - done : kChunk;
      load(x + done * bytes_, loaded, count);
      f(static_cast<const void*>(loaded), count);
    }
  }

  // An element of each of `count` outputs.
  template <typename F>
  void feed_columns(const char* x, int64_t count, F& f) const {
    const int64_t step = outer_.step(1);
    if (step == 1) return feed_dense(x, count, f);
    alignas(64) unsigned char gathered[kColumns * 8];
    Walk column(1);
    column.add(count, &step);
    gather_elements(column, x, bytes_, 0, count, gathered);
    feed_dense(reinterpret_cast<const char*>(gathered), count, f);
  }

  template <typename F>
  void feed_gathered(const char* base, F& f) const {
    alignas(64) unsigned char gathered[kChunk * 8];
    for (int64_t done = 0; done < inner_.count; done += kChunk) {
      const int64_t count = inner_.count - done < kChunk ? inner_.count - done : kChunk;
      gather_elements(inner_, base, bytes_, done, count, gathered);
      feed_dense(reinterpret_cast<const char*>(gathered), count, f);
    }
  }

  void load(const void* source, void* target, int64_t n) const;

  const Tensor& self_;
  Walk outer_;  // operands: out, self
  Walk inner_;  // operand: self
  DType common_;
  DType compute_;
  int64_t bytes_;
  bool columns_;
  bool direct_;
};

}  // namespace berth::portable
