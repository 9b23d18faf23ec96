#include "kernels/portable/layout_slice.h"

#include "kernels/portable/copy_strided.h"
#include "kernels/portable/layout_boxes.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// Where a bound of a slice lies, in [0, size].
int64_t clamp_bound(int64_t bound, int64_t size) {
  if (bound < 0) bound += size;  // no overflow: they have different signs
  return bound < 0 ? 0 : bound > size ? size : bound;
}

}  // namespace

void SubBox::push(int64_t size, int64_t stride) {
  strides[sizes.rank] = stride;
  push_size(&sizes, size);
}

SubBox slice_of(const Tensor& tensor, int dim, int64_t start, int64_t length, int64_t step) {
  SubBox box;
  for (int d = 0; d < tensor.rank(); ++d) {
    if (d == dim) {
      // A single element needs no step, and a huge one would overflow.
      box.push(length, length > 1 ? tensor.stride(d) * step : tensor.stride(d));
    } else {
      box.push(tensor.size(d), tensor.stride(d));
    }
  }
  if (length > 0) box.offset = start * tensor.stride(dim);
  return box;
}

SubBox select_of(const Tensor& tensor, int dim, int64_t index) {
  SubBox box;
  for (int d = 0; d < tensor.rank(); ++d) {
    if (d != dim) box.push(tensor.size(d), tensor.stride(d));
  }
  box.offset = index * tensor.stride(dim);
  return box;
}

Error read_slice(KernelContext& context, const Tensor& tensor, int64_t dim, std::optional<int64_t> start,
                 std::optional<int64_t> end, int64_t step, SubBox* out) {
  int d = 0;
  if (tensor.rank() == 0) return context.fail(Error::kInvalidArgument, "a tensor of rank 0 has no slices");
  BERTH_RETURN_IF_ERROR(read_dim(context, dim, tensor, &d));
  if (step < 1) return context.fail(Error::kInvalidArgument, "the step of a slice must be at least 1");
  const int64_t size = tensor.size(d);
  const int64_t first = clamp_bound(start.value_or(0), size);
  const int64_t last = clamp_bound(end.value_or(size), size);
  const int64_t length = last > first ? (last - first - 1) / step + 1 : 0;
  *out = slice_of(tensor, d, first, length, step);
  return Error::kOk;
}

Error read_select(KernelContext& context, const Tensor& tensor, int64_t dim, int64_t index, SubBox* out) {
  int d = 0;
  if (tensor.rank() == 0) return context.fail(Error::kInvalidArgument, "nothing can be selected from rank 0");
  BERTH_RETURN_IF_ERROR(read_dim(context, dim, tensor, &d));
  const int64_t size = tensor.size(d);
  if (index < -size || index >= size) {
    return context.fail(Error::kInvalidArgument, "the index to select is outside the dimension");
  }
  *out = select_of(tensor, d, index < 0 ? index + size : index);
  return Error::kOk;
}

Error copy_from_box(KernelContext& context, const Tensor& self, const SubBox& box, Tensor& out) {
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, box.sizes));
  if (out.numel() == 0) return Error::kOk;
  const size_t bytes = element_size(self.dtype());
  const char* first = self.data<char>() + box.offset * bytes;
  copy_box(context, bytes, box.sizes.span(), first, box.stride_span(), out.raw(), out.strides());
  return Error::kOk;
}

void copy_to_box(KernelContext& context, const Tensor& src, const SubBox& box, Tensor& out) {
  if (src.numel() == 0) return;
  const size_t bytes = element_size(src.dtype());
  char* first = out.data<char>() + box.offset * bytes;
  copy_box(context, bytes, box.sizes.span(), src.raw(), src.strides(), first, box.stride_span());
}

Error slice_copy_Tensor_out(KernelContext& context, const arguments::slice_copy_Tensor_out& args) {
  const Tensor& self = args.self;
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_slice(context, self, args.dim, args.start, args.end, args.step, &box));
  return copy_from_box(context, self, box, args.out);
}

Error select_copy_int_out(KernelContext& context, const arguments::select_copy_int_out& args) {
  const Tensor& self = args.self;
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_select(context, self, args.dim, args.index, &box));
  return copy_from_box(context, self, box, args.out);
}

Error narrow_copy_out(KernelContext& context, const arguments::narrow_copy_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_narrow(context, args.self, args.dim, args.start, args.length, &box));
  return copy_from_box(context, args.self, box, args.out);
}

Error diagonal_copy_out(KernelContext& context, const arguments::diagonal_copy_out& args) {
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_diagonal(context, args.self, args.offset, args.dim1, args.dim2, &box));
  return copy_from_box(context, args.self, box, args.out);
}

Error select_scatter_out(KernelContext& context, const arguments::select_scatter_out& args) {
  const Tensor& self = args.self;
  const Tensor& src = args.src;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes_of(self)));
  BERTH_RETURN_IF_ERROR(check_memory(context, src));
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_select(context, out, args.dim, args.index, &box));
  if (src.dtype() != self.dtype() || src.sizes() != box.sizes.span()) {
    return context.fail(Error::kInvalidArgument, "select_scatter: src is not of the dtype and sizes of the selection");
  }
  copy_tensor(context, self, out);
  copy_to_box(context, src, box, out);
  return Error::kOk;
}

Error slice_scatter_out(KernelContext& context, const arguments::slice_scatter_out& args) {
  const Tensor& self = args.self;
  const Tensor& src = args.src;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes_of(self)));
  BERTH_RETURN_IF_ERROR(check_memory(context, src));
  SubBox box;
  BERTH_RETURN_IF_ERROR(read_slice(context, out, args.dim, args.start, args.end, args.step, &box));
  if (src.dtype() != self.dtype() || src.sizes() != box.sizes.span()) {
    return context.fail(Error::kInvalidArgument, "slice_scatter: src is not of the dtype and sizes of the slice");
  }
  copy_tensor(context, self, out);
  copy_to_box(context, src, box, out);
  return Error::kOk;
}

}  // namespace berth::portable
