// permute_copy, transpose_copy, t_copy: the same elements with their dimensions in another order.
#include "kernels/portable/copy_strided.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// Dimension d of `out` is dimension dims[d] of `self`. REQUIRES: `dims` is a permutation.
Error permute(KernelContext& context, const Tensor& self, const int* dims, Tensor& out) {
  Sizes sizes;
  int64_t strides[kMaxRank];
  for (int d = 0; d < self.rank(); ++d) {
    push_size(&sizes, self.size(dims[d]));
    strides[d] = self.stride(dims[d]);
  }
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  copy_box(context, element_size(self.dtype()), sizes.span(), self.raw(), {strides, static_cast<size_t>(sizes.rank)},
           out.raw(), out.strides());
  return Error::kOk;
}

Error swap_dims(KernelContext& context, const Tensor& self, int a, int b, Tensor& out) {
  int dims[kMaxRank];
  for (int d = 0; d < self.rank(); ++d) dims[d] = d == a ? b : d == b ? a : d;
  return permute(context, self, dims, out);
}

}  // namespace

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

}  // namespace berth::portable
