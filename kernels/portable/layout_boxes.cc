#include "kernels/portable/layout_boxes.h"

namespace berth::portable {
namespace {

// REQUIRES: `dims` is a permutation.
SubBox permuted(const Tensor& self, const int* dims) {
  SubBox box;
  for (int d = 0; d < self.rank(); ++d) box.push(self.size(dims[d]), self.stride(dims[d]));
  return box;
}

SubBox with_swapped(const Tensor& self, int a, int b) {
  int dims[kMaxRank];
  for (int d = 0; d < self.rank(); ++d) dims[d] = d == a ? b : d == b ? a : d;
  return permuted(self, dims);
}

}  // namespace

Error read_permute(KernelContext& context, const Tensor& self, IntList list, SubBox* out) {
  Integers order;
  BERTH_RETURN_IF_ERROR(read_integers(context, list, &order));
  if (order.count != self.rank()) {
    return context.fail(Error::kInvalidArgument, "permute_copy: dims must name every dimension of self once");
  }
  int dims[kMaxRank] = {};
  bool seen[kMaxRank] = {};
  for (int d = 0; d < order.count; ++d) {
    BERTH_RETURN_IF_ERROR(read_dim(context, order[d], self, &dims[d]));
    if (seen[dims[d]]) return context.fail(Error::kInvalidArgument, "permute_copy: dims names a dimension twice");
    seen[dims[d]] = true;
  }
  *out = permuted(self, dims);
  return Error::kOk;
}

Error read_transpose(KernelContext& context, const Tensor& self, int64_t dim0, int64_t dim1, SubBox* out) {
  int a = 0;
  int b = 0;
  BERTH_RETURN_IF_ERROR(read_dim(context, dim0, self, &a));
  BERTH_RETURN_IF_ERROR(read_dim(context, dim1, self, &b));
  *out = with_swapped(self, a, b);
  return Error::kOk;
}

Error read_t(KernelContext& context, const Tensor& self, SubBox* out) {
  if (self.rank() > 2) return context.fail(Error::kInvalidArgument, "t_copy: self has more than two dimensions");
  *out = with_swapped(self, 0, self.rank() - 1);
  return Error::kOk;
}

Error read_expand(KernelContext& context, const Tensor& self, IntList list, SubBox* out) {
  Integers wanted;
  BERTH_RETURN_IF_ERROR(read_integers(context, list, &wanted));
  const int added = wanted.count - self.rank();
  if (added < 0 || wanted.count > kMaxRank) {
    return context.fail(Error::kInvalidArgument, "expand_copy: size has fewer dimensions than self, or more than 16");
  }
  for (int d = 0; d < wanted.count; ++d) {
    const int64_t own = d < added ? 1 : self.size(d - added);
    const int64_t size = wanted[d] == -1 && d >= added ? own : wanted[d];
    if ((own != 1 && size != own) || size < 0 || size > INT32_MAX) {
      return context.fail(Error::kInvalidArgument, "expand_copy: self does not stretch to size");
    }
    out->push(size, own == 1 ? 0 : self.stride(d - added));
  }
  return Error::kOk;
}

Error read_narrow(KernelContext& context, const Tensor& self, int64_t dim, int64_t start, int64_t length, SubBox* out) {
  int d = 0;
  if (self.rank() == 0) return context.fail(Error::kInvalidArgument, "narrow_copy: self has rank 0");
  BERTH_RETURN_IF_ERROR(read_dim(context, dim, self, &d));
  const int64_t size = self.size(d);
  const int64_t count = length;
  const int64_t first = start < 0 ? start + size : start;
  if (first < 0 || first > size || count < 0 || count > size - first) {
    return context.fail(Error::kInvalidArgument, "narrow_copy: start and length are not inside the dimension");
  }
  *out = slice_of(self, d, first, count, 1);
  return Error::kOk;
}

Error read_diagonal(KernelContext& context, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2,
                    SubBox* out) {
  const int64_t shift = offset;
  int a = 0;
  int b = 0;
  if (self.rank() < 2) return context.fail(Error::kInvalidArgument, "diagonal_copy: self has less than two dimensions");
  BERTH_RETURN_IF_ERROR(read_dim(context, dim1, self, &a));
  BERTH_RETURN_IF_ERROR(read_dim(context, dim2, self, &b));
  if (a == b) return context.fail(Error::kInvalidArgument, "diagonal_copy: dim1 and dim2 are the same dimension");
  const bool right = shift >= 0;
  const int64_t rows = self.size(a);
  const int64_t columns = self.size(b);
  int64_t length = 0;
  if (right && shift < columns) length = rows < columns - shift ? rows : columns - shift;
  if (!right && shift > -rows) length = rows + shift < columns ? rows + shift : columns;
  for (int d = 0; d < self.rank(); ++d) {
    if (d != a && d != b) out->push(self.size(d), self.stride(d));
  }
  // Beside an empty dimension strides may be so large that their sum overflows.
  out->push(length, self.numel() == 0 ? 0 : self.stride(a) + self.stride(b));
  if (length > 0) out->offset = right ? shift * self.stride(b) : -shift * self.stride(a);
  return Error::kOk;
}

Error read_flip(KernelContext& context, const Tensor& self, IntList list, SubBox* out) {
  Integers dims;
  BERTH_RETURN_IF_ERROR(read_integers(context, list, &dims));
  bool flipped[kMaxRank] = {};
  for (int i = 0; i < dims.count; ++i) {
    int dim = 0;
    BERTH_RETURN_IF_ERROR(read_dim(context, dims[i], self, &dim));
    if (flipped[dim]) return context.fail(Error::kInvalidArgument, "flip: dims names a dimension twice");
    flipped[dim] = true;
  }
  for (int d = 0; d < self.rank(); ++d) {
    if (flipped[d] && self.size(d) > 0) out->offset += (self.size(d) - 1) * self.stride(d);
    out->push(self.size(d), flipped[d] ? -self.stride(d) : self.stride(d));
  }
  return Error::kOk;
}

}  // namespace berth::portable
