// bit_cast: the bytes of each element read as an element of another type of the same size.
#include <cstring>

#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {

Error bit_cast_out(KernelContext& context, const arguments::bit_cast_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  if (element_size(self.dtype()) != element_size(out.dtype())) {
    return context.fail(Error::kInvalidArgument, "bit_cast: the types differ in size");
  }
  BERTH_RETURN_IF_ERROR(resize_out(context, out, self.sizes()));
  BERTH_RETURN_IF_ERROR(check_memory(context, self, out));
  if (!self.is_contiguous() || !out.is_contiguous()) {
    return context.fail(Error::kInvalidArgument, "bit_cast takes and gives elements in row-major order");
  }
  if (out.nbytes() > 0) std::memmove(out.data<char>(), self.data<char>(), out.nbytes());
  return Error::kOk;
}

}  // namespace berth::portable
