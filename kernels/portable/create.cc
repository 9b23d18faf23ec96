// full, full_like, zeros, ones, scalar_tensor, fill: every element of the output the same number; and empty.
#include <cstring>

#include "kernels/portable/convert.h"
#include "kernels/portable/copy_block.h"
#include "kernels/portable/create_scalar.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// A thread's share.
constexpr int64_t kGrainBytes = 256 * 1024;

// Resizes `out` and stores `value` everywhere.
Error fill_all(KernelContext& context, const Element& value, const Sizes& sizes, Tensor& out) {
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, out));
  const int64_t bytes = static_cast<int64_t>(element_size(out.dtype()));
  context.parallel_for(out.numel(), kGrainBytes / bytes, [&](int64_t begin, int64_t end) {
    fill_elements(end - begin, bytes, value.bytes, out.data<char>() + begin * bytes);
  });
  return Error::kOk;
}

Error empty(KernelContext& context, IntList size, Tensor& out) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(read_sizes(context, size, &sizes));
  return resize_out(context, out, sizes.span());
}

}  // namespace

Error full_out(KernelContext& context, const arguments::full_out& args) {
  return full(context, args.size, args.fill_value, args.out, fill_all);
}
Error zeros_out(KernelContext& context, const arguments::zeros_out& args) {
  return full(context, args.size, EValue(int64_t{0}), args.out, fill_all);
}
Error ones_out(KernelContext& context, const arguments::ones_out& args) {
  return full(context, args.size, EValue(int64_t{1}), args.out, fill_all);
}
// The memory format says nothing here: out has the dimension order that it has, and every element is the same.
Error full_like_out(KernelContext& context, const arguments::full_like_out& args) {
  return full_like(context, args.self, args.fill_value, args.out, fill_all);
}
Error scalar_tensor_out(KernelContext& context, const arguments::scalar_tensor_out& args) {
  return scalar_tensor(context, args.s, args.out, fill_all);
}
Error fill_Scalar_out(KernelContext& context, const arguments::fill_Scalar_out& args) {
  return fill_scalar(context, args.self, args.value, args.out, fill_all);
}

// The elements are whatever the memory held.
Error empty_out(KernelContext& context, const arguments::empty_out& args) {
  return empty(context, args.size, args.out);
}

Error empty_dim_order_out(KernelContext& context, const arguments::empty_dim_order_out& args) {
  return empty(context, args.size, args.out);
}

Error fill_Tensor_out(KernelContext& context, const arguments::fill_Tensor_out& args) {
  const Tensor& self = args.self;
  const Tensor& value = args.value;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(check_fill(context, self, value, out));
  // Read before out is written: both may be the same memory.
  Element element;
  if (value.dtype() == out.dtype()) {
    std::memcpy(element.bytes, value.raw(), element_size(value.dtype()));
  } else if (is_real(value.dtype()) && is_real(out.dtype())) {
    convert_elements(value.dtype(), value.raw(), out.dtype(), element.bytes, 1);
  } else {
    return context.fail(Error::kInvalidArgument, "fill: value cannot be converted to the dtype of self");
  }
  return fill_all(context, element, sizes_of(self), out);
}

}  // namespace berth::portable
