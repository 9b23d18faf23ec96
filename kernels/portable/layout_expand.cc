// expand_copy and repeat: elements that are read more than once.
#include "kernels/portable/copy_strided.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {

Error expand_copy_out(KernelContext& context, Span<EValue* const> args) {
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[3]->tensor();
  Integers wanted;
  BERTH_RETURN_IF_ERROR(read_integers(context, *args[1], &wanted));
  const int added = wanted.count - self.rank();
  if (added < 0 || wanted.count > kMaxRank) {
    return context.fail(Error::kInvalidArgument, "expand_copy: size has fewer dimensions than self, or more than 16");
  }
  Sizes sizes;
  int64_t strides[kMaxRank];
  for (int d = 0; d < wanted.count; ++d) {
    const int64_t own = d < added ? 1 : self.size(d - added);
    const int64_t size = wanted[d] == -1 && d >= added ? own : wanted[d];
    if ((own != 1 && size != own) || !push_size(&sizes, size)) {
      return context.fail(Error::kInvalidArgument, "expand_copy: self does not stretch to size");
    }
    strides[d] = own == 1 ? 0 : self.stride(d - added);
  }
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  copy_box(context, element_size(self.dtype()), sizes.span(), self.raw(), {strides, static_cast<size_t>(sizes.rank)},
           out.raw(), out.strides());
  return Error::kOk;
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
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  if (out.numel() == 0) return Error::kOk;
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
