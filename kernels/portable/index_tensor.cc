#include "kernels/portable/index_tensor.h"

#include "base/math.h"

namespace berth::portable {
namespace {

bool is_mask_dtype(DType dtype) { return dtype == DType::kBool || dtype == DType::kU8; }

// Where element `index` of the mask lies in `self`, whose dimensions from `dim` on it covers.
int64_t masked_offset(const Tensor& self, const Tensor& mask, int dim, int64_t index) {
  int64_t offset = 0;
  for (int d = mask.rank() - 1; d >= 0; --d) {
    offset += index % mask.size(d) * self.stride(dim + d);
    index /= mask.size(d);
  }
  return offset;
}

}  // namespace

Error TensorIndices::broadcast(KernelContext& context, Span<const int32_t> sizes) {
  if (broadcast_sizes(sizes, &shape_)) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "the index tensors do not broadcast to one another");
}

Error TensorIndices::read_index(KernelContext& context, const Tensor& self, const Tensor& index, int dim) {
  BERTH_RETURN_IF_ERROR(check_index(context, index));
  Index& mine = indices_[count_];
  mine.reader = IndexReader(index);
  mine.dim = dim;
  mine.size = self.size(dim);
  for (int d = 0; d < index.rank(); ++d) mine.strides[d] = index.stride(d);
  own_sizes_[count_++] = sizes_of(index);
  indexed_[dim] = true;
  return broadcast(context, index.sizes());
}

Error TensorIndices::read_mask(KernelContext& context, const Tensor& self, const Tensor& mask, int dim) {
  BERTH_RETURN_IF_ERROR(check_memory(context, mask));
  for (int d = 0; d < mask.rank(); ++d) {
    if (mask.size(d) != self.size(dim + d)) {
      return context.fail(Error::kInvalidArgument, "a mask differs in size from the dimensions that it selects from");
    }
    indexed_[dim + d] = true;
  }
  const uint8_t* bytes = mask.data<uint8_t>();
  int64_t set = 0;
  for (int64_t i = 0; i < mask.numel(); ++i) set += bytes[i] != 0 ? 1 : 0;
  int64_t* offsets = nullptr;
  if (set > 0) {
    offsets = static_cast<int64_t*>(context.allocate_temp(set * sizeof(int64_t)));
    if (offsets == nullptr) return Error::kMemoryAllocationFailed;
  }
  int64_t written = 0;
  for (int64_t i = 0; i < mask.numel() && written < set; ++i) {
    if (bytes[element_offset(mask, i)] != 0) offsets[written++] = masked_offset(self, mask, dim, i);
  }
  Index& mine = indices_[count_];
  mine.reader = IndexReader(offsets);
  mine.is_mask = true;
  mine.strides[0] = 1;
  Sizes& own = own_sizes_[count_++];
  if (!push_size(&own, written)) return context.fail(Error::kInvalidArgument, "a mask selects 2^31 elements or more");
  return broadcast(context, own.span());
}

// After all index tensors are known: their strides over the broadcast dimensions, and the sizes of the result.
Error TensorIndices::arrange(KernelContext& context, const Tensor& self) {
  for (int k = 0; k < count_; ++k) {
    const int missing = shape_.rank - own_sizes_[k].rank;
    for (int d = shape_.rank - 1; d >= 0; --d) {
      const bool stretched = d < missing || own_sizes_[k].data[d - missing] == 1;
      indices_[k].strides[d] = stretched ? 0 : indices_[k].strides[d - missing];
    }
    indices_[k].step = shape_.rank == 0 ? 0 : indices_[k].strides[shape_.rank - 1];
  }
  int first = 0;
  int last = self.rank() - 1;
  while (first < self.rank() && !indexed_[first]) ++first;
  while (last > first && !indexed_[last]) --last;
  bool neighbours = true;
  for (int d = first; d <= last; ++d) neighbours = neighbours && indexed_[d];
  front_ = neighbours ? first : 0;
  bool fits = true;
  for (int d = 0; d <= self.rank(); ++d) {
    if (d == (neighbours ? first : 0)) {
      for (const int32_t size : shape_.span()) fits = fits && push_size(&result_, size);
    }
    if (d == self.rank() || indexed_[d]) continue;
    kept_self_[kept_] = d;
    kept_result_[kept_++] = result_.rank;
    fits = fits && push_size(&result_, self.size(d));
  }
  for (const int32_t size : shape_.span()) fits = fits && checked_mul<int64_t>(positions_, size, &positions_);
  if (fits) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "self[indices] has more than 16 dimensions, or too many elements");
}

Error TensorIndices::read(KernelContext& context, const Tensor& self, OptionalTensorList list) {
  int dim = 0;
  for (const EValue* item : list.values()) {
    const bool mask = item->is_tensor() && is_mask_dtype(item->tensor().dtype());
    const int taken = mask ? item->tensor().rank() : 1;
    if (taken == 0) return context.fail(Error::kNotSupported, "a mask of rank 0 is not an index");
    if (dim + taken > self.rank()) {
      return context.fail(Error::kInvalidArgument, "there are more indices than self has dimensions");
    }
    if (mask) {
      BERTH_RETURN_IF_ERROR(read_mask(context, self, item->tensor(), dim));
    } else if (item->is_tensor()) {
      BERTH_RETURN_IF_ERROR(read_index(context, self, item->tensor(), dim));
    } else if (!item->is_none()) {
      return context.fail(Error::kInvalidType, "an entry of the list of indices is not a tensor");
    }
    dim += taken;
  }
  return arrange(context, self);
}

int64_t TensorIndices::result_count() const {
  int64_t count = positions_;
  for (int i = 0; i < kept_; ++i) {
    const int64_t size = result_.data[kept_result_[i]];
    if (!checked_mul(count, size, &count)) return INT64_MAX;
  }
  return count;
}

void TensorIndices::add_slab(const int64_t* self_strides, const int64_t* result_strides, bool to_result,
                             StridedCopy* copy) const {
  for (int i = 0; i < kept_; ++i) {
    const int64_t in_self = self_strides[kept_self_[i]];
    const int64_t in_result = result_strides[kept_result_[i]];
    copy->add(result_.data[kept_result_[i]], to_result ? in_self : in_result, to_result ? in_result : in_self);
  }
}

int64_t TensorIndices::offset_of(const int64_t* strides, int64_t position) const {
  int64_t offset = 0;
  for (int d = shape_.rank - 1; d >= 0; --d) {
    offset += position % shape_.data[d] * strides[d];
    position /= shape_.data[d];
  }
  return offset;
}

size_t mask_temp_bytes(OptionalTensorList list) {
  size_t bytes = 0;
  for (const EValue* item : list.values()) {
    if (!item->is_tensor() || !is_mask_dtype(item->tensor().dtype())) continue;
    // And up to 63 bytes before it, where the memory itself is not aligned.
    bytes += align_up<size_t>(item->tensor().capacity() * sizeof(int64_t), 64) + 64;
  }
  return bytes;
}

}  // namespace berth::portable
