// Tensor: sizes, strides and a data pointer. It owns nothing: its creator, usually a Method, keeps the elements and the
// size arrays alive.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/span.h"

namespace berth {

/// Whether a tensor's sizes may change (numbers of the file format).
enum class ShapeDynamism : uint8_t {
  kStatic = 0,   // sizes never change
  kBounded = 1,  // the number of elements never exceeds that of the sizes in the file
};

class Tensor {
 public:
  Tensor() = default;

  /// A tensor over arrays that the caller keeps alive. `sizes` and `strides` have `rank` entries and are rewritten by
  /// resize(); `dim_order` has `rank` entries, a permutation, outermost dimension first, and is only read. Strides (in
  /// elements) are computed here. The capacity is the number of elements of the initial `sizes`.
  ///
  /// REQUIRES: 0 <= rank <= kMaxRank; sizes >= 0; the number of bytes fits in size_t.
  Tensor(DType dtype, int rank, int32_t* sizes, const uint8_t* dim_order, int64_t* strides, void* data,
         ShapeDynamism dynamism = ShapeDynamism::kStatic, Device device = Device());

  DType dtype() const { return dtype_; }
  int rank() const { return rank_; }
  Device device() const { return device_; }
  ShapeDynamism dynamism() const { return dynamism_; }

  /// Logical sizes, one a dimension.
  Span<const int32_t> sizes() const { return {sizes_, static_cast<size_t>(rank_)}; }
  /// Dimensions from the outermost in memory to the innermost.
  Span<const uint8_t> dim_order() const { return {dim_order_, static_cast<size_t>(rank_)}; }
  /// The distance in elements between consecutive indices of each logical dimension.
  Span<const int64_t> strides() const { return {strides_, static_cast<size_t>(rank_)}; }
  int64_t size(int dim) const { return sizes_[dim]; }
  int64_t stride(int dim) const { return strides_[dim]; }

  /// Number of elements.
  int64_t numel() const { return numel_; }
  /// Bytes of the elements.
  size_t nbytes() const { return numel_ * element_size(dtype_); }
  /// The largest number of elements that resize() accepts for a bounded tensor.
  int64_t capacity() const { return capacity_; }
  /// To be called when the tensor gets memory of another size. REQUIRES: elements >= 0; it has memory for so many.
  void set_capacity(int64_t elements) { capacity_ = elements; }

  /// Whether the dimension order is 0, 1, 2, …, so that elements lie in row-major order of the logical dimensions.
  bool is_contiguous() const { return contiguous_; }

  /// Typed access. Null when the tensor has no memory yet. REQUIRES: T matches dtype(), which is not checked.
  template <typename T>
  T* data() {
    return static_cast<T*>(data_);
  }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }
  void* raw() const { return data_; }
  void set_data(void* data) { data_ = data; }

  /// Changes the sizes and recomputes the strides. The rank cannot change. A static tensor accepts only its own sizes;
  /// a bounded one any sizes whose product is at most capacity(). InvalidArgument otherwise, with the sizes unchanged.
  Error resize(Span<const int32_t> sizes);

 private:
  void update_strides();

  void* data_ = nullptr;
  int32_t* sizes_ = nullptr;
  const uint8_t* dim_order_ = nullptr;
  int64_t* strides_ = nullptr;
  int64_t numel_ = 1;
  int64_t capacity_ = 1;
  DType dtype_ = DType::kF32;
  uint8_t rank_ = 0;
  ShapeDynamism dynamism_ = ShapeDynamism::kStatic;
  bool contiguous_ = true;
  Device device_;
};

}  // namespace berth
