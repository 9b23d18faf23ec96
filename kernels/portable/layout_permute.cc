// permute_copy, transpose_copy, t_copy: the same elements with their dimensions in another order.
#include "kernels/portable/layout_boxes.h"
#include "kernels/portable/portable.h"

namespace berth::portable {

Error permute_copy_out(KernelContext& context, Span<EValue* const> args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_permute(context, args[0]->tensor(), *args[1], &box));
  return copy_from_box(context, args[0]->tensor(), box, args[2]->tensor());
}

Error transpose_copy_int_out(KernelContext& context, Span<EValue* const> args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_transpose(context, args[0]->tensor(), *args[1], *args[2], &box));
  return copy_from_box(context, args[0]->tensor(), box, args[3]->tensor());
}

Error t_copy_out(KernelContext& context, Span<EValue* const> args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_t(context, args[0]->tensor(), &box));
  return copy_from_box(context, args[0]->tensor(), box, args[1]->tensor());
}

}  // namespace berth::portable
