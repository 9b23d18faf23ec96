#include "kernels/portable/fused_weight_rows.h"

#include <cstring>

#include "kernels/portable/index_reader.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {

Error prepare_weight_rows(KernelContext& context, const arguments::weight_rows_out& args, DType dtype, int64_t width) {
  BERTH_RETURN_IF_ERROR(check_index(context, args.indices));
  if (args.out.dtype() != dtype) {
    return context.fail(Error::kInvalidArgument, "rows of a weight are of another type than the result");
  }
  Sizes sizes = sizes_of(args.indices);
  if (!push_size(&sizes, width)) return context.fail(Error::kInvalidArgument, "the result has more than 16 dimensions");
  BERTH_RETURN_IF_ERROR(resize_out(context, args.out, sizes.span()));
  if (!args.out.is_contiguous()) return context.fail(Error::kInvalidArgument, "rows of a weight are row-major");
  return check_memory(context, args.weight, args.out);
}

int64_t row_of_index(const arguments::weight_rows_out& args, int64_t i, int64_t rows) {
  const int64_t index = IndexReader(args.indices)[element_offset(args.indices, i)];
  const int64_t row = args.from_end && index < 0 ? index + rows : index;
  return row >= 0 && row < rows ? row : -1;
}

Error weight_rows_out(KernelContext& context, const arguments::weight_rows_out& args) {
  const Tensor& weight = args.weight;
  if (args.packing.size != 0 || args.bits != 0) {
    return context.fail(Error::kNotSupported, "this weight is packed; portable kernels take dense ones");
  }
  if (weight.rank() != 2) return context.fail(Error::kInvalidArgument, "a weight must have two dimensions");
  const int64_t width = weight.size(0);
  BERTH_RETURN_IF_ERROR(prepare_weight_rows(context, args, weight.dtype(), width));
  const auto size = static_cast<int64_t>(element_size(weight.dtype()));
  for (int64_t i = 0; i < args.indices.numel(); ++i) {
    const int64_t row = row_of_index(args, i, weight.size(1));
    if (row < 0) return index_out_of_range(context);
    const char* from = weight.data<char>() + row * weight.stride(1) * size;
    char* to = args.out.data<char>() + i * width * size;
    for (int64_t k = 0; k < width; ++k) std::memcpy(to + k * size, from + k * weight.stride(0) * size, size);
  }
  return Error::kOk;
}

}  // namespace berth::portable
