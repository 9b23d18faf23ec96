#include "runtime/tensor.h"

#include "base/math.h"

namespace berth {

Tensor::Tensor(DType dtype, int rank, int32_t* sizes, const uint8_t* dim_order, int64_t* strides, void* data,
               ShapeDynamism dynamism, Device device)
    : data_(data),
      sizes_(sizes),
      dim_order_(dim_order),
      strides_(strides),
      dtype_(dtype),
      rank_(static_cast<uint8_t>(rank)),
      dynamism_(dynamism),
      device_(device) {
  for (int i = 0; i < rank; ++i) contiguous_ = contiguous_ && dim_order[i] == i;
  update_strides();
  capacity_ = numel_;
}

// The innermost stride is 1; each outer stride is the next inner one times its size, where 0 counts as 1. Unsigned,
// because a size of 0 together with huge sizes is valid, and its strides, which are never used, may overflow.
void Tensor::update_strides() {
  uint64_t stride = 1;
  uint64_t numel = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    const int dim = dim_order_[i];
    const uint64_t size = static_cast<uint64_t>(sizes_[dim]);
    strides_[dim] = static_cast<int64_t>(stride);
    numel *= size;
    stride *= size == 0 ? 1 : size;
  }
  numel_ = static_cast<int64_t>(numel);
}

Error Tensor::resize(Span<const int32_t> sizes) {
  if (sizes.size() != rank_) return Error::kInvalidArgument;
  bool same = true;
  int64_t numel = 1;
  int64_t span = 1;
  for (size_t i = 0; i < rank_; ++i) {
    if (sizes[i] < 0 || !checked_mul<int64_t>(numel, sizes[i], &numel)) return Error::kInvalidArgument;
    // Strides count an empty dimension as one element, so they can overflow where the number of elements does not.
    if (!checked_mul<int64_t>(span, sizes[i] == 0 ? 1 : sizes[i], &span)) return Error::kInvalidArgument;
    same = same && sizes[i] == sizes_[i];
  }
  // The capacity may have become smaller than the sizes are.
  if (numel > capacity_) return Error::kInvalidArgument;
  if (same) return Error::kOk;
  if (dynamism_ == ShapeDynamism::kStatic) return Error::kInvalidArgument;
  for (size_t i = 0; i < rank_; ++i) sizes_[i] = sizes[i];
  update_strides();
  return Error::kOk;
}

}  // namespace berth
