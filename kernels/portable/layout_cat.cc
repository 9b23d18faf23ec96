// cat and stack: tensors side by side in one. Parts of other dtypes than the output's are converted.
#include "kernels/portable/convert.h"
#include "kernels/portable/iterate.h"
#include "kernels/portable/layout_sizes.h"
#include "kernels/portable/layout_slice.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// Copies `part` to the box of `out`, in the dtype of out.
void place(KernelContext& context, const Tensor& part, const SubBox& box, Tensor& out) {
  if (part.dtype() == out.dtype()) return copy_to_box(context, part, box, out);
  Walk walk(2);
  for (const uint8_t d : part.dim_order()) {
    const int64_t strides[] = {part.stride(d), box.strides[d]};
    walk.add(part.size(d), strides);
  }
  const size_t from_bytes = element_size(part.dtype());
  const size_t to_bytes = element_size(out.dtype());
  for_each_run(walk, 0, walk.count, [&](const int64_t* at, int64_t n) {
    const bool dense = walk.step(0) == 1 && walk.step(1) == 1;
    const int64_t run = dense ? n : 1;
    for (int64_t i = 0; i < n; i += run) {
      const auto from = at[0] + i * walk.step(0);
      const auto to = static_cast<size_t>(box.offset + at[1] + i * walk.step(1));
      convert_elements(part.dtype(), part.data<char>() + from * from_bytes, out.dtype(),
                       out.data<char>() + to * to_bytes, run);
    }
  });
}

}  // namespace

Error cat_out(KernelContext& context, const arguments::cat_out& args) {
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(prepare_cat(context, args.tensors, args.dim, out, &dim));
  int64_t start = 0;
  for (const Tensor& part : args.tensors) {
    if (is_legacy_empty(part)) continue;
    place(context, part, slice_of(out, dim, start, part.size(dim), 1), out);
    start += part.size(dim);
  }
  return Error::kOk;
}

Error stack_out(KernelContext& context, const arguments::stack_out& args) {
  Tensor& out = args.out;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(prepare_stack(context, args.tensors, args.dim, out, &dim));
  int64_t index = 0;
  for (const Tensor& part : args.tensors) place(context, part, select_of(out, dim, index++), out);
  return Error::kOk;
}

}  // namespace berth::portable
