// expand_copy and repeat: elements that are read more than once.
#include "kernels/portable/copy_strided.h"
#include "kernels/portable/layout_boxes.h"
#include "kernels/portable/layout_sizes.h"
#include "kernels/portable/portable.h"

namespace berth::portable {

Error expand_copy_out(KernelContext& context, const arguments::expand_copy_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_expand(context, args.self, args.size, &box));
  return copy_from_box(context, args.self, box, args.out);
}

Error repeat_out(KernelContext& context, const arguments::repeat_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  Integers repeats;
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(read_repeat(context, self, args.repeats, &repeats, &sizes));
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  if (out.numel() == 0) return Error::kOk;
  const int added = repeats.count - self.rank();
  StridedCopy copy(element_size(self.dtype()));
  for (int d = 0; d < repeats.count; ++d) {
    const int64_t own = d < added ? 1 : self.size(d - added);
    copy.add(repeats[d], 0, own * out.stride(d));
    if (d >= added) copy.add(own, self.stride(d - added), out.stride(d));
  }
  copy.prepare();
  copy.run(context, self.raw(), out.raw());
  return Error::kOk;
}

}  // namespace berth::portable
