#include "kernels/portable/copy_strided.h"

#include <cstring>

#include "kernels/portable/copy_block.h"

namespace berth::portable {
namespace {

// A thread's share, below which splitting costs more than it gains.
constexpr int64_t kGrainBytes = 64 * 1024;

// Rows up to this many elements are copied in a loop: a call of memcpy would cost more than they do.
constexpr int64_t kShortRow = 4;

}  // namespace

void StridedCopy::add(int64_t size, int64_t from, int64_t to) {
  if (size == 0) empty_ = true;
  if (size == 1 || empty_) return;
  BERTH_CHECK(rank_ < kMaxDims);
  dims_[rank_++] = {size, from * bytes_, to * bytes_};
}

void StridedCopy::remove(int dim) {
  for (int i = dim; i + 1 < rank_; ++i) dims_[i] = dims_[i + 1];
  --rank_;
}

// By writing stride, the largest first; there are few dimensions.
void StridedCopy::sort() {
  for (int i = 1; i < rank_; ++i) {
    const Dim dim = dims_[i];
    int j = i;
    for (; j > 0 && dims_[j - 1].to < dim.to; --j) dims_[j] = dims_[j - 1];
    dims_[j] = dim;
  }
}

void StridedCopy::coalesce() {
  for (int i = rank_ - 2; i >= 0; --i) {
    Dim& outer = dims_[i];
    const Dim& inner = dims_[i + 1];
    if (outer.to != inner.to * inner.size || outer.from != inner.from * inner.size) continue;
    outer = {outer.size * inner.size, inner.from, inner.to};
    remove(i + 1);
  }
}

// The rest of a row after this step is still whole elements: the inner dimension disappears or stays as it is.
void StridedCopy::widen() {
  if (rank_ == 0) return;
  const Dim& inner = dims_[rank_ - 1];
  if (inner.from != bytes_ || inner.to != bytes_) return;
  const int64_t row = inner.size * bytes_;
  if (row != 2 && row != 4 && row != 8 && row != 16) return;
  bytes_ = row;
  --rank_;
}

void StridedCopy::choose() {
  const Dim& inner = dims_[rank_ - 1];
  way_ = Way::kElements;
  if (inner.to != bytes_) return;
  if (inner.from == bytes_) {
    if (inner.size > kShortRow) way_ = Way::kRows;
    return;
  }
  const Dim& next = dims_[rank_ - 2];
  if (inner.size >= 2 && inner.size <= 4 && next.from == bytes_ && next.to == inner.size * bytes_) {
    way_ = Way::kInterleave;
    return;
  }
  if (inner.from == 0) {
    way_ = Way::kFill;
    return;
  }
  int dense = rank_ - 2;
  while (dense >= 0 && (dims_[dense].from != bytes_ || dims_[dense].size == 1)) --dense;
  if (dense < 0) return;
  const Dim row = dims_[dense];
  // A few long rows are read in order as they are; tiles need some of both.
  if (row.size < 4 || inner.size < 4) return;
  remove(dense);
  dims_[rank_] = dims_[rank_ - 1];
  dims_[rank_ - 1] = row;
  ++rank_;
  way_ = Way::kTranspose;
}

void StridedCopy::prepare() {
  if (empty_) return;
  sort();
  coalesce();
  widen();
  for (; rank_ < 2; ++rank_) {
    for (int i = rank_; i > 0; --i) dims_[i] = dims_[i - 1];
    dims_[0] = {1, 0, bytes_};
  }
  if (dims_[1].size == 1) dims_[1].from = dims_[1].to = bytes_;
  choose();
  outer_ = 1;
  for (int i = 0; i < rank_ - 2; ++i) outer_ *= dims_[i].size;
}

int64_t StridedCopy::bytes() const {
  if (empty_) return 0;
  return outer_ * dims_[rank_ - 2].size * dims_[rank_ - 1].size * bytes_;
}

void StridedCopy::run_block(const char* from, char* to, int64_t rows) const {
  const Dim& row = dims_[rank_ - 2];
  const Dim& column = dims_[rank_ - 1];
  const CopyBlock block{rows, column.size, row.from, column.from, row.to, column.to};
  switch (way_) {
    case Way::kNothing: break;
    case Way::kRows: copy_rows(block, bytes_, from, to); break;
    case Way::kFill: copy_fill(block, bytes_, from, to); break;
    case Way::kInterleave: copy_interleave(block, bytes_, from, to); break;
    case Way::kTranspose: copy_transpose(block, bytes_, from, to); break;
    case Way::kElements: copy_elements(block, bytes_, from, to); break;
  }
}

// Rows are counted through all dimensions but the last; [begin, end) may start and end inside a block.
void StridedCopy::run_rows(const char* from, char* to, int64_t begin, int64_t end) const {
  const int outer_rank = rank_ - 2;
  const Dim& row = dims_[outer_rank];
  int64_t index[kMaxDims];
  int64_t rest = begin / row.size;
  for (int i = outer_rank - 1; i >= 0; --i) {
    index[i] = rest % dims_[i].size;
    rest /= dims_[i].size;
    from += index[i] * dims_[i].from;
    to += index[i] * dims_[i].to;
  }
  int64_t first = begin % row.size;
  while (begin < end) {
    const int64_t left = row.size - first;
    const int64_t rows = left < end - begin ? left : end - begin;
    run_block(from + first * row.from, to + first * row.to, rows);
    begin += rows;
    first = 0;
    for (int i = outer_rank - 1; i >= 0; --i) {
      from += dims_[i].from;
      to += dims_[i].to;
      if (++index[i] < dims_[i].size) break;
      from -= dims_[i].size * dims_[i].from;
      to -= dims_[i].size * dims_[i].to;
      index[i] = 0;
    }
  }
}

void StridedCopy::run(const void* from, void* to) const {
  if (empty_) return;
  run_rows(static_cast<const char*>(from), static_cast<char*>(to), 0, outer_ * dims_[rank_ - 2].size);
}

void StridedCopy::run(KernelContext& context, const void* from, void* to) const {
  if (empty_) return;
  const char* source = static_cast<const char*>(from);
  char* target = static_cast<char*>(to);
  const int64_t rows = outer_ * dims_[rank_ - 2].size;
  const int64_t row_bytes = dims_[rank_ - 1].size * bytes_;
  if (rows == 1 && way_ == Way::kRows) {
    context.parallel_for(row_bytes, kGrainBytes,
                         [&](int64_t begin, int64_t end) { std::memcpy(target + begin, source + begin, end - begin); });
    return;
  }
  context.parallel_for(rows, kGrainBytes / (row_bytes + 1) + 1,
                       [&](int64_t begin, int64_t end) { run_rows(source, target, begin, end); });
}

void copy_box(KernelContext& context, size_t element_bytes, Span<const int32_t> sizes, const void* from,
              Span<const int64_t> from_strides, void* to, Span<const int64_t> to_strides) {
  StridedCopy copy(element_bytes);
  for (size_t i = 0; i < sizes.size(); ++i) copy.add(sizes[i], from_strides[i], to_strides[i]);
  copy.prepare();
  copy.run(context, from, to);
}

void copy_tensor(KernelContext& context, const Tensor& from, Tensor& to) {
  if (from.numel() == 0 || (from.raw() == to.raw() && from.dim_order() == to.dim_order())) return;
  copy_box(context, element_size(from.dtype()), from.sizes(), from.raw(), from.strides(), to.raw(), to.strides());
}

}  // namespace berth::portable
