#include "kernels/portable/layout_arguments.h"

namespace berth::portable {

Error read_integers(KernelContext& context, const std::optional<IntList>& list, Integers* out) {
  out->count = 0;
  if (!list.has_value()) return Error::kOk;
  const Span<EValue* const> items = list->values();
  if (items.size() > Integers::kMax) {
    return context.fail(Error::kInvalidArgument, "an integer list has more than 32 entries");
  }
  for (const EValue* item : items) {
    if (!item->is_int()) return context.fail(Error::kInvalidType, "an entry of an integer list is not an integer");
    out->data[out->count++] = item->to_int();
  }
  return Error::kOk;
}

Error read_sizes(KernelContext& context, IntList list, Sizes* out) {
  Integers wanted;
  BERTH_RETURN_IF_ERROR(read_integers(context, list, &wanted));
  for (int i = 0; i < wanted.count; ++i) {
    if (!push_size(out, wanted[i])) {
      return context.fail(Error::kInvalidArgument, "size has a negative dimension, one over 2^31 - 1, or more than 16");
    }
  }
  return Error::kOk;
}

bool push_size(Sizes* sizes, int64_t size) {
  if (sizes->rank >= kMaxRank || size < 0 || size > INT32_MAX) return false;
  sizes->data[sizes->rank++] = static_cast<int32_t>(size);
  return true;
}

Sizes sizes_of(const Tensor& tensor) {
  Sizes sizes;
  for (const int32_t size : tensor.sizes()) sizes.data[sizes.rank++] = size;
  return sizes;
}

int64_t element_offset(const Tensor& tensor, int64_t index) {
  if (tensor.is_contiguous()) return index;
  int64_t offset = 0;
  for (int d = tensor.rank() - 1; d >= 0; --d) {
    offset += index % tensor.size(d) * tensor.stride(d);
    index /= tensor.size(d);
  }
  return offset;
}

Error check_memory(KernelContext& context, const Tensor& tensor) {
  if (tensor.raw() != nullptr || tensor.numel() == 0) return Error::kOk;
  return context.fail(Error::kInvalidState, "a tensor has no memory");
}

Error check_memory(KernelContext& context, const Tensor& a, const Tensor& b) {
  BERTH_RETURN_IF_ERROR(check_memory(context, a));
  return check_memory(context, b);
}

Error check_same_dtype(KernelContext& context, const Tensor& self, const Tensor& out) {
  if (self.dtype() == out.dtype()) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "input and output of a kernel that moves elements differ in dtype");
}

Error prepare_out(KernelContext& context, const Tensor& self, Tensor& out, const Sizes& sizes) {
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, self, out));
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  return check_memory(context, self, out);
}

Error read_dim(KernelContext& context, int64_t dim, const Tensor& tensor, int* out) {
  if (normalize_dim(dim, tensor.rank(), out)) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "dim is out of range for the rank of the tensor");
}

}  // namespace berth::portable
