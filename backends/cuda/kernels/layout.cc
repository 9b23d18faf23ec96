// The same elements with other sizes, in another order, or a part of them: views, permutations, slices, flips, splits.
#include "backends/cuda/kernels/copy.h"
#include "backends/cuda/kernels/kernels.h"
#include "base/result.h"
#include "kernels/portable/layout_boxes.h"
#include "kernels/portable/layout_sizes.h"

namespace berth::cuda {
namespace {

using portable::Integers;
using portable::read_integers;
using portable::Sizes;
using portable::sizes_of;
using portable::SubBox;

// REQUIRES: as many elements in `sizes` as in `self`.
Error view(KernelContext& context, const Tensor& self, const Sizes& sizes, Tensor& out) {
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, sizes));
  return copy_in_order(context, self, out, 0);
}

Error squeeze(KernelContext& context, const Tensor& self, const Integers& dims, Tensor& out) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_squeeze(context, self, dims, &sizes));
  return view(context, self, sizes, out);
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
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_view(context, args[0]->tensor(), *args[1], &sizes));
  return view(context, args[0]->tensor(), sizes, args[2]->tensor());
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
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_unsqueeze(context, args[0]->tensor(), args[1]->integer(), &sizes));
  return view(context, args[0]->tensor(), sizes, args[2]->tensor());
}

Error permute_copy_out(KernelContext& context, Span<EValue* const> args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_permute(context, args[0]->tensor(), *args[1], &box));
  return take_box(context, args[0]->tensor(), box, args[2]->tensor());
}

Error transpose_copy_int_out(KernelContext& context, Span<EValue* const> args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_transpose(context, args[0]->tensor(), *args[1], *args[2], &box));
  return take_box(context, args[0]->tensor(), box, args[3]->tensor());
}

Error t_copy_out(KernelContext& context, Span<EValue* const> args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_t(context, args[0]->tensor(), &box));
  return take_box(context, args[0]->tensor(), box, args[1]->tensor());
}

Error expand_copy_out(KernelContext& context, Span<EValue* const> args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_expand(context, args[0]->tensor(), *args[1], &box));
  return take_box(context, args[0]->tensor(), box, args[3]->tensor());
}

Error repeat_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[2]->tensor();
  Integers repeats;
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_repeat(context, self, *args[1], &repeats, &sizes));
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
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_narrow(context, args[0]->tensor(), *args[1], *args[2], *args[3], &box));
  return take_box(context, args[0]->tensor(), box, args[4]->tensor());
}

Error diagonal_copy_out(KernelContext& context, Span<EValue* const> args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_diagonal(context, args[0]->tensor(), *args[1], *args[2], *args[3], &box));
  return take_box(context, args[0]->tensor(), box, args[4]->tensor());
}

Error flip_out(KernelContext& context, Span<EValue* const> args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_flip(context, args[0]->tensor(), *args[1], &box));
  return take_box(context, args[0]->tensor(), box, args[2]->tensor());
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
  return portable::split_copy(context, args, take_box);
}
Error split_with_sizes_copy_out(KernelContext& context, Span<EValue* const> args) {
  return portable::split_with_sizes_copy(context, args, take_box);
}
Error unbind_copy_int_out(KernelContext& context, Span<EValue* const> args) {
  return portable::unbind_copy(context, args, take_box);
}

}  // namespace berth::cuda
