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

Error view_copy_out(KernelContext& context, const arguments::view_copy_out& args) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_view(context, args.self, args.size, &sizes));
  return view(context, args.self, sizes, args.out);
}

Error squeeze_copy_dim_out(KernelContext& context, const arguments::squeeze_copy_dim_out& args) {
  Integers dims;
  dims.data[dims.count++] = args.dim;
  return squeeze(context, args.self, dims, args.out);
}

Error squeeze_copy_dims_out(KernelContext& context, const arguments::squeeze_copy_dims_out& args) {
  Integers dims;
  BERTH_RETURN_IF_ERROR(read_integers(context, args.dim, &dims));
  return squeeze(context, args.self, dims, args.out);
}

Error unsqueeze_copy_out(KernelContext& context, const arguments::unsqueeze_copy_out& args) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_unsqueeze(context, args.self, args.dim, &sizes));
  return view(context, args.self, sizes, args.out);
}

Error permute_copy_out(KernelContext& context, const arguments::permute_copy_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_permute(context, args.self, args.dims, &box));
  return take_box(context, args.self, box, args.out);
}

Error transpose_copy_int_out(KernelContext& context, const arguments::transpose_copy_int_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_transpose(context, args.self, args.dim0, args.dim1, &box));
  return take_box(context, args.self, box, args.out);
}

Error t_copy_out(KernelContext& context, const arguments::t_copy_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_t(context, args.self, &box));
  return take_box(context, args.self, box, args.out);
}

Error expand_copy_out(KernelContext& context, const arguments::expand_copy_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_expand(context, args.self, args.size, &box));
  return take_box(context, args.self, box, args.out);
}

Error repeat_out(KernelContext& context, const arguments::repeat_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  Integers repeats;
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(portable::read_repeat(context, self, args.repeats, &repeats, &sizes));
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, sizes));
  return repeat_tensor(context, self, out);
}

Error slice_copy_Tensor_out(KernelContext& context, const arguments::slice_copy_Tensor_out& args) {
  const Tensor& self = args.self;
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_slice(context, self, args.dim, args.start, args.end, args.step, &box));
  return take_box(context, self, box, args.out);
}

Error select_copy_int_out(KernelContext& context, const arguments::select_copy_int_out& args) {
  const Tensor& self = args.self;
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_select(context, self, args.dim, args.index, &box));
  return take_box(context, self, box, args.out);
}

Error narrow_copy_out(KernelContext& context, const arguments::narrow_copy_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_narrow(context, args.self, args.dim, args.start, args.length, &box));
  return take_box(context, args.self, box, args.out);
}

Error diagonal_copy_out(KernelContext& context, const arguments::diagonal_copy_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_diagonal(context, args.self, args.offset, args.dim1, args.dim2, &box));
  return take_box(context, args.self, box, args.out);
}

Error flip_out(KernelContext& context, const arguments::flip_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_flip(context, args.self, args.dims, &box));
  return take_box(context, args.self, box, args.out);
}

Error select_scatter_out(KernelContext& context, const arguments::select_scatter_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, sizes_of(self)));
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_select(context, out, args.dim, args.index, &box));
  return scatter_box(context, self, args.src, box, out);
}

Error slice_scatter_out(KernelContext& context, const arguments::slice_scatter_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(portable::prepare_out(context, self, out, sizes_of(self)));
  SubBox box;
  BERTH_RETURN_IF_ERROR(portable::read_slice(context, out, args.dim, args.start, args.end, args.step, &box));
  return scatter_box(context, self, args.src, box, out);
}

Error split_copy_Tensor_out(KernelContext& context, const arguments::split_copy_Tensor_out& args) {
  return portable::split_copy(context, args, take_box);
}
Error split_with_sizes_copy_out(KernelContext& context, const arguments::split_with_sizes_copy_out& args) {
  return portable::split_with_sizes_copy(context, args, take_box);
}
Error unbind_copy_int_out(KernelContext& context, const arguments::unbind_copy_int_out& args) {
  return portable::unbind_copy(context, args, take_box);
}

}  // namespace berth::cuda
