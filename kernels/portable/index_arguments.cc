#include "kernels/portable/index_arguments.h"

namespace berth::portable {
namespace {

// Whether `index` has the rank of `other` and fits into it, but for dimension `free` (-1: in every dimension).
bool fits_into(const Tensor& index, const Tensor& other, int free) {
  if (index.numel() == 0) return true;
  if (index.rank() != other.rank()) return false;
  for (int d = 0; d < index.rank(); ++d) {
    if (d != free && index.size(d) > other.size(d)) return false;
  }
  return true;
}

}  // namespace

Error prepare_gather(KernelContext& context, const arguments::gather_out& args, int* dim) {
  const Tensor& self = args.self;
  const Tensor& index = args.index;
  BERTH_RETURN_IF_ERROR(read_dim(context, args.dim, self, dim));
  BERTH_RETURN_IF_ERROR(check_index(context, index));
  if (!fits_into(index, self, *dim)) {
    return context.fail(Error::kInvalidArgument, "gather: index is larger than self in a dimension other than dim");
  }
  return prepare_out(context, self, args.out, sizes_of(index));
}

Error check_scatter(KernelContext& context, const Tensor& self, int64_t wanted_dim, const Tensor& index,
                    const Tensor* src, const Tensor& out, int* dim) {
  BERTH_RETURN_IF_ERROR(read_dim(context, wanted_dim, self, dim));
  BERTH_RETURN_IF_ERROR(check_index(context, index));
  if (!fits_into(index, self, *dim)) {
    return context.fail(Error::kInvalidArgument, "scatter: index is larger than self in a dimension other than dim");
  }
  if (src == nullptr) return Error::kOk;
  if (!fits_into(index, *src, -1)) {
    return context.fail(Error::kInvalidArgument, "scatter: index is larger than src in a dimension");
  }
  BERTH_RETURN_IF_ERROR(check_same_dtype(context, *src, out));
  return check_memory(context, *src);
}

}  // namespace berth::portable
