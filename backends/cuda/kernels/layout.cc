// The same elements with other sizes, in another order, or a part of them: views, permutations, slices, splits.
#include "backends/cuda/kernels/copy.h"
#include "backends/cuda/kernels/kernels.h"
#include "base/result.h"
#include "kernels/portable/layout_slice.h"

namespace berth::cuda {
namespace {

using portable::Integers;
using portable::push_size;
using portable::read_dim;
using portable::read_integers;
using portable::Sizes;
using portable::sizes_of;
using portable::SubBox;

// REQUIRES: as many elements in `sizes` as in `self`.
Error view(KernelContext& context, const Tensor& self, const Sizes& sizes, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, sizes));
  return copy_in_order(context, self, out, 0);
}

Error view_sizes(KernelContext& context, const Tensor& self, const Integers& wanted, Sizes* sizes) {
  int inferred = -1;
  int64_t known = 1;
  for (int i = 0; i < wanted.count; ++i) {
    if (wanted[i] == -1 && inferred < 0) {
      inferred = i;
      if (push_size(sizes, 0)) continue;
    } else if (push_size(sizes, wanted[i]) && !__builtin_mul_overflow(known, wanted[i], &known)) {
      continue;
    }
    return context.fail(Error::kInvalidArgument, "view_copy: size has a dimension below -1, a second -1, or too many");
  }
  if (inferred >= 0) {
    if (known == 0 || self.numel() % known != 0 || self.numel() / known > INT32_MAX) {
      return context.fail(Error::kInvalidArgument,
                          "view_copy: no size for the dimension -1 gives the elements of self");
    }
    sizes->data[inferred] = static_cast<int32_t>(self.numel() / known);
    return Error::kOk;
  }
  if (known == self.numel()) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "view_copy: size does not have as many elements as self");
}

Error squeeze(KernelContext& context, const Tensor& self, const Integers& dims, Tensor& out) {
  bool dropped[kMaxRank] = {};
  for (int i = 0; i < dims.count; ++i) {
    int dim = 0;
    BERTH_RETURN_IF_ERROR(read_dim(context, dims[i], self, &dim));
    if (dropped[dim]) return context.fail(Error::kInvalidArgument, "squeeze_copy: dim names a dimension twice");
    dropped[dim] = true;
  }
  Sizes sizes;
  for (int d = 0; d < self.rank(); ++d) {
    if (!dropped[d] || self.size(d) != 1) push_size(&sizes, self.size(d));
  }
  return view(context, self, sizes, out);
}

// Dimension d of `out` is dimension dims[d] of `self`. REQUIRES: `dims` is a permutation.
Error permute(KernelContext& context, const Tensor& self, const int* dims, Tensor& out) {
  SubBox box;
  for (int d = 0; d < self.rank(); ++d) box.push(self.size(dims[d]), self.stride(dims[d]));
  return take_box(context, self, box, out);
}

Error swap_dims(KernelContext& context, const Tensor& self, int a, int b, Tensor& out) {
  int dims[kMaxRank];
  for (int d = 0; d < self.rank(); ++d) dims[d] = d == a ? b : d == b ? a : d;
  return permute(context, self, dims, out);
}

Error check_pieces(KernelContext& context, const EValue& outs, int64_t wanted) {
  if (static_cast<int64_t>(outs.items().size()) != wanted) {
    return context.fail(Error::kInvalidArgument, "the output list has not as many tensors as there are pieces");
  }
  for (const EValue* out : outs.items()) {
    if (!out->is_tensor()) return context.fail(Error::kInvalidType, "an entry of the output list is no tensor");
  }
  return Error::kOk;
}

Error read_split_dim(KernelContext& context, const Tensor& self, const EValue& dim, int* out) {
  if (self.rank() == 0) return context.fail(Error::kInvalidArgument, "a tensor of rank 0 cannot be split");
  return read_dim(context, dim.integer(), self, out);
}

// What select_scatter and slice_scatter do once the box is known.
Error scatter_box(KernelContext& context, const Tensor& self, const Tensor& src, const SubBox& box, Tensor& out) {
  if (src.dtype() != self.dtype() || src.sizes() != box.sizes.span()) {
    return context.fail(Error::kInvalidArgument, "src is not of the dtype and sizes of the part that it replaces");
  }
  BERTH_RETURN_IF_ERROR(copy_tensor(context, self, out));
  return put_box(context, src, box, out);
}

}  // namespace

Error view_copy_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Integers wanted;
  BERTH_RETURN_IF_ERROR(read_integers(context, *args[1], &wanted));
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(view_sizes(context, self, wanted, &sizes));
  return view(context, self, sizes, args[2]->tensor());
}

Error squeeze_copy_dim_out(KernelContext& context, Span<EValue* const> args) {
  Integers dims;
  dims.data[dims.count++] = args[1]->integer();
  return squeeze(context, args[0]->tensor(), dims, args[2]->tensor());
}

Error squeeze_copy_dims_out(KernelContext& context, Span<EValue* const> args) {
  Integers dims;
  BERTH_RETURN_IF_ERROR(read_integers(context, *args[1], &dims));
  return squeeze(context, args[0]->tensor(), dims, args[2]->tensor());
}

Error unsqueeze_copy_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  int dim = 0;
  if (self.rank() == kMaxRank || !portable::normalize_dim(args[1]->integer(), self.rank() + 1, &dim)) {
    return context.fail(Error::kInvalidArgument, "unsqueeze_copy: dim is out of range, or self has 16 dimensions");
  }
  Sizes sizes;
  for (int d = 0; d <= self.rank(); ++d) {
    if (d == dim) push_size(&sizes, 1);
    if (d < self.rank()) push_size(&sizes, self.size(d));
  }
  return view(context, self, sizes, args[2]->tensor());
}

Error permute_copy_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Integers order;
  BERTH_RETURN_IF_ERROR(read_integers(context, *args[1], &order));
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
  return permute(context, self, dims, args[2]->tensor());
}

Error transpose_copy_int_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  int a = 0;
  int b = 0;
  BERTH_RETURN_IF_ERROR(read_dim(context, args[1]->integer(), self, &a));
  BERTH_RETURN_IF_ERROR(read_dim(context, args[2]->integer(), self, &b));
  return swap_dims(context, self, a, b, args[3]->tensor());
}

Error t_copy_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  if (self.rank() > 2) return context.fail(Error::kInvalidArgument, "t_copy: self has more than two dimensions");
  return swap_dims(context, self, 0, self.rank() - 1, args[1]->tensor());
}

Error expand_copy_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Integers wanted;
  BERTH_RETURN_IF_ERROR(read_integers(context, *args[1], &wanted));
  const int added = wanted.count - self.rank();
  if (added < 0 || wanted.count > kMaxRank) {
    return context.fail(Error::kInvalidArgument, "expand_copy: size has fewer dimensions than self, or more than 16");
  }
  SubBox box;
  for (int d = 0; d < wanted.count; ++d) {
    const int64_t own = d < added ? 1 : self.size(d - added);
    const int64_t size = wanted[d] == -1 && d >= added ? own : wanted[d];
    if ((own != 1 && size != own) || size < 0 || size > INT32_MAX) {
      return context.fail(Error::kInvalidArgument, "expand_copy: self does not stretch to size");
    }
    box.push(size, own == 1 ? 0 : self.stride(d - added));
  }
  return take_box(context, self, box, args[3]->tensor());
}

Error repeat_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[2]->tensor();
  Integers repeats;
  BERTH_RETURN_IF_ERROR(read_integers(context, *args[1], &repeats));
  const int added = repeats.count - self.rank();
  if (added < 0 || repeats.count > kMaxRank) {
    return context.fail(Error::kInvalidArgument, "repeat: repeats has fewer entries than self dimensions, or over 16");
  }
  Sizes sizes;
  for (int d = 0; d < repeats.count; ++d) {
    const int64_t own = d < added ? 1 : self.size(d - added);
    int64_t size = 0;
    if (repeats[d] < 0 || __builtin_mul_overflow(own, repeats[d], &size) || !push_size(&sizes, size)) {
      return context.fail(Error::kInvalidArgument, "repeat: an entry of repeats is negative or too large");
    }
  }
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, sizes));
  return repeat_tensor(context, self, out);
}

Error slice_copy_Tensor_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_slice(context, self, *args[1], *args[2], *args[3], *args[4], &box));
  return take_box(context, self, box, args[5]->tensor());
}

Error select_copy_int_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_select(context, self, *args[1], *args[2], &box));
  return take_box(context, self, box, args[3]->tensor());
}

Error narrow_copy_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  int dim = 0;
  if (self.rank() == 0) return context.fail(Error::kInvalidArgument, "narrow_copy: self has rank 0");
  BERTH_RETURN_IF_ERROR(read_dim(context, args[1]->integer(), self, &dim));
  const int64_t size = self.size(dim);
  const int64_t length = args[3]->integer();
  int64_t start = args[2]->integer();
  if (start < 0) start += size;
  if (start < 0 || start > size || length < 0 || length > size - start) {
    return context.fail(Error::kInvalidArgument, "narrow_copy: start and length are not inside the dimension");
  }
  return take_box(context, self, portable::slice_of(self, dim, start, length, 1), args[4]->tensor());
}

Error diagonal_copy_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  const int64_t offset = args[1]->integer();
  int a = 0;
  int b = 0;
  if (self.rank() < 2) return context.fail(Error::kInvalidArgument, "diagonal_copy: self has less than two dimensions");
  BERTH_RETURN_IF_ERROR(read_dim(context, args[2]->integer(), self, &a));
  BERTH_RETURN_IF_ERROR(read_dim(context, args[3]->integer(), self, &b));
  if (a == b) return context.fail(Error::kInvalidArgument, "diagonal_copy: dim1 and dim2 are the same dimension");
  const bool right = offset >= 0;
  const int64_t rows = self.size(a);
  const int64_t columns = self.size(b);
  int64_t length = 0;
  if (right && offset < columns) length = rows < columns - offset ? rows : columns - offset;
  if (!right && offset > -rows) length = rows + offset < columns ? rows + offset : columns;
  SubBox box;
  for (int d = 0; d < self.rank(); ++d) {
    if (d != a && d != b) box.push(self.size(d), self.stride(d));
  }
  box.push(length, self.stride(a) + self.stride(b));
  if (length > 0) box.offset = right ? offset * self.stride(b) : -offset * self.stride(a);
  return take_box(context, self, box, args[4]->tensor());
}

Error select_scatter_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[4]->tensor();
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, sizes_of(self)));
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_select(context, out, *args[2], *args[3], &box));
  return scatter_box(context, self, args[1]->tensor(), box, out);
}

Error slice_scatter_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[6]->tensor();
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, sizes_of(self)));
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_slice(context, out, *args[2], *args[3], *args[4], *args[5], &box));
  return scatter_box(context, self, args[1]->tensor(), box, out);
}

Error split_copy_Tensor_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  const int64_t step = args[1]->integer();
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_split_dim(context, self, *args[2], &dim));
  const int64_t size = self.size(dim);
  if (step < 0 || (step == 0 && size != 0)) {
    return context.fail(Error::kInvalidArgument, "split_copy: split_size must be at least 1");
  }
  // An empty dimension still gives one (empty) piece.
  BERTH_RETURN_IF_ERROR(check_pieces(context, *args[3], size == 0 ? 1 : (size - 1) / step + 1));
  int64_t start = 0;
  for (const EValue* out : args[3]->items()) {
    const int64_t length = size - start < step ? size - start : step;
    BERTH_RETURN_IF_ERROR(take_box(context, self, portable::slice_of(self, dim, start, length, 1), out->tensor()));
    start += length;
  }
  return Error::kOk;
}

Error split_with_sizes_copy_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  const Span<EValue* const> lengths = args[1]->items();
  const Span<EValue* const> outs = args[3]->items();
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_split_dim(context, self, *args[2], &dim));
  BERTH_RETURN_IF_ERROR(check_pieces(context, *args[3], static_cast<int64_t>(lengths.size())));
  int64_t left = self.size(dim);
  for (const EValue* length : lengths) {
    if (!length->is_int() || length->integer() < 0 || length->integer() > left) {
      return context.fail(Error::kInvalidArgument,
                          "split_with_sizes_copy: a size is negative, or the sum is too large");
    }
    left -= length->integer();
  }
  if (left != 0) {
    return context.fail(Error::kInvalidArgument, "split_with_sizes_copy: the sizes do not add up to the dimension");
  }
  int64_t start = 0;
  for (size_t i = 0; i < outs.size(); ++i) {
    const int64_t length = lengths[i]->integer();
    BERTH_RETURN_IF_ERROR(take_box(context, self, portable::slice_of(self, dim, start, length, 1), outs[i]->tensor()));
    start += length;
  }
  return Error::kOk;
}

Error unbind_copy_int_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_split_dim(context, self, *args[1], &dim));
  BERTH_RETURN_IF_ERROR(check_pieces(context, *args[2], self.size(dim)));
  int64_t index = 0;
  for (const EValue* out : args[2]->items()) {
    BERTH_RETURN_IF_ERROR(take_box(context, self, portable::select_of(self, dim, index++), out->tensor()));
  }
  return Error::kOk;
}

}  // namespace berth::cuda
