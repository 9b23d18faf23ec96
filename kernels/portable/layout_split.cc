// split_copy, split_with_sizes_copy, unbind_copy: one tensor taken apart into several.
#include "kernels/portable/layout_boxes.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

Error check_pieces(KernelContext& context, TensorList outs, int64_t wanted) {
  if (static_cast<int64_t>(outs.size()) != wanted) {
    return context.fail(Error::kInvalidArgument, "the output list does not have as many tensors as there are pieces");
  }
  for (const EValue* out : outs.values()) {
    if (!out->is_tensor()) return context.fail(Error::kInvalidType, "an entry of the output list is not a tensor");
  }
  return Error::kOk;
}

Error read_split_dim(KernelContext& context, const Tensor& self, int64_t dim, int* out) {
  if (self.rank() == 0) return context.fail(Error::kInvalidArgument, "a tensor of rank 0 cannot be split");
  return read_dim(context, dim, self, out);
}

}  // namespace

Error split_copy(KernelContext& context, const arguments::split_copy_Tensor_out& args, MoveBox move) {
  const Tensor& self = args.self;
  const int64_t step = args.split_size;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_split_dim(context, self, args.dim, &dim));
  const int64_t size = self.size(dim);
  if (step < 0 || (step == 0 && size != 0)) {
    return context.fail(Error::kInvalidArgument, "split_copy: split_size must be at least 1");
  }
  // An empty dimension still gives one (empty) piece.
  BERTH_RETURN_IF_ERROR(check_pieces(context, args.out, size == 0 ? 1 : (size - 1) / step + 1));
  int64_t start = 0;
  for (Tensor& out : args.out) {
    const int64_t length = size - start < step ? size - start : step;
    BERTH_RETURN_IF_ERROR(move(context, self, slice_of(self, dim, start, length, 1), out));
    start += length;
  }
  return Error::kOk;
}

Error split_with_sizes_copy(KernelContext& context, const arguments::split_with_sizes_copy_out& args, MoveBox move) {
  const Tensor& self = args.self;
  const IntList lengths = args.split_sizes;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_split_dim(context, self, args.dim, &dim));
  BERTH_RETURN_IF_ERROR(check_pieces(context, args.out, static_cast<int64_t>(lengths.size())));
  int64_t left = self.size(dim);
  for (const EValue* length : lengths.values()) {
    if (!length->is_int() || length->to_int() < 0 || length->to_int() > left) {
      return context.fail(Error::kInvalidArgument,
                          "split_with_sizes_copy: a size is negative, or the sum is too large");
    }
    left -= length->to_int();
  }
  if (left != 0) {
    return context.fail(Error::kInvalidArgument, "split_with_sizes_copy: the sizes do not add up to the dimension");
  }
  int64_t start = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t length = lengths[i];
    BERTH_RETURN_IF_ERROR(move(context, self, slice_of(self, dim, start, length, 1), args.out[i]));
    start += length;
  }
  return Error::kOk;
}

Error unbind_copy(KernelContext& context, const arguments::unbind_copy_int_out& args, MoveBox move) {
  const Tensor& self = args.self;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_split_dim(context, self, args.dim, &dim));
  BERTH_RETURN_IF_ERROR(check_pieces(context, args.out, self.size(dim)));
  int64_t index = 0;
  for (Tensor& out : args.out) {
    BERTH_RETURN_IF_ERROR(move(context, self, select_of(self, dim, index++), out));
  }
  return Error::kOk;
}

Error split_copy_Tensor_out(KernelContext& context, const arguments::split_copy_Tensor_out& args) {
  return split_copy(context, args, copy_from_box);
}
Error split_with_sizes_copy_out(KernelContext& context, const arguments::split_with_sizes_copy_out& args) {
  return split_with_sizes_copy(context, args, copy_from_box);
}
Error unbind_copy_int_out(KernelContext& context, const arguments::unbind_copy_int_out& args) {
  return unbind_copy(context, args, copy_from_box);
}

}  // namespace berth::portable
