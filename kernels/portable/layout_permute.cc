// permute_copy, transpose_copy, t_copy: the same elements with their dimensions in another order.
#include "kernels/portable/layout_boxes.h"
#include "kernels/portable/portable.h"

namespace berth::portable {

Error permute_copy_out(KernelContext& context, const arguments::permute_copy_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_permute(context, args.self, args.dims, &box));
  return copy_from_box(context, args.self, box, args.out);
}

Error transpose_copy_int_out(KernelContext& context, const arguments::transpose_copy_int_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_transpose(context, args.self, args.dim0, args.dim1, &box));
  return copy_from_box(context, args.self, box, args.out);
}

Error t_copy_out(KernelContext& context, const arguments::t_copy_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_t(context, args.self, &box));
  return copy_from_box(context, args.self, box, args.out);
}

}  // namespace berth::portable
