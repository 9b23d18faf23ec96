// IndexReader: the elements of an i32 or i64 tensor as int64_t.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernels/portable/layout_arguments.h"

namespace berth::portable {

/// Indices come from a file or from the user: the reader of one checks it, there and then, against the dimension that
/// it selects from.
class IndexReader {
 public:
  IndexReader() = default;
  /// REQUIRES: is_index_dtype(tensor.dtype())
  explicit IndexReader(const Tensor& tensor) : data_(tensor.raw()), wide_(tensor.dtype() == DType::kI64) {}

  /// Over i64 elements that lie one after the other.
  explicit IndexReader(const int64_t* data) : data_(data) {}

  /// The element at `offset` elements from the first.
  int64_t operator[](int64_t offset) const {
    return wide_ ? static_cast<const int64_t*>(data_)[offset] : static_cast<const int32_t*>(data_)[offset];
  }

  static bool is_index_dtype(DType dtype) { return dtype == DType::kI64 || dtype == DType::kI32; }

 private:
  const void* data_ = nullptr;
  bool wide_ = true;
};

/// The checks of an index tensor: its dtype, and that it has memory.
inline Error check_index(KernelContext& context, const Tensor& index) {
  if (!IndexReader::is_index_dtype(index.dtype())) {
    return context.fail(Error::kInvalidArgument, "an index tensor must be i32 or i64");
  }
  return check_memory(context, index);
}

/// Whether all threads found their indices in range.
class AllOf {
 public:
  void also(bool in_range) {
    if (!in_range) all_.store(false, std::memory_order_relaxed);
  }
  explicit operator bool() const { return all_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> all_{true};
};

inline Error index_out_of_range(KernelContext& context) {
  return context.fail(Error::kInvalidArgument, "an index is outside the dimension that it selects from");
}

}  // namespace berth::portable
