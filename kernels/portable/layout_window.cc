// as_strided_copy and unfold_copy: boxes over a tensor's elements that may overlap.
#include "base/math.h"
#include "kernels/portable/layout_slice.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// The last element that the box reaches, counted from its first. False when that does not fit.
bool last_element(const SubBox& box, int64_t* out) {
  *out = 0;
  for (int d = 0; d < box.sizes.rank; ++d) {
    int64_t span = 0;
    if (!checked_mul<int64_t>(box.sizes.data[d] - 1, box.strides[d], &span) || !checked_add(*out, span, out)) {
      return false;
    }
  }
  return true;
}

bool is_empty(const SubBox& box) {
  for (const int32_t size : box.sizes.span()) {
    if (size == 0) return true;
  }
  return false;
}

}  // namespace

// The strides count elements of self's memory, whatever self's own sizes are.
Error as_strided_copy_out(KernelContext& context, const arguments::as_strided_copy_out& args) {
  const Tensor& self = args.self;
  Sizes sizes;
  Integers strides;
  BERTH_RETURN_IF_ERROR(read_sizes(context, args.size, &sizes));
  BERTH_RETURN_IF_ERROR(read_integers(context, args.stride, &strides));
  if (strides.count != sizes.rank) {
    return context.fail(Error::kInvalidArgument, "as_strided_copy: size and stride have different lengths");
  }
  SubBox box;
  for (int d = 0; d < sizes.rank; ++d) {
    if (strides[d] < 0) return context.fail(Error::kInvalidArgument, "as_strided_copy: a stride is negative");
    box.push(sizes.data[d], strides[d]);
  }
  box.offset = args.storage_offset.value_or(0);
  int64_t last = 0;
  const bool inside =
      box.offset >= 0 &&
      (is_empty(box) || (last_element(box, &last) && box.offset < self.numel() && last < self.numel() - box.offset));
  if (!inside) {
    return context.fail(Error::kInvalidArgument, "as_strided_copy: size, stride and offset reach outside of self");
  }
  return copy_from_box(context, self, box, args.out);
}

// Slices of `size` elements of a dimension, `step` apart; the elements of a slice are the last dimension.
Error unfold_copy_out(KernelContext& context, const arguments::unfold_copy_out& args) {
  const Tensor& self = args.self;
  const int64_t size = args.size;
  const int64_t step = args.step;
  int dim = 0;
  BERTH_RETURN_IF_ERROR(read_dim(context, args.dimension, self, &dim));
  const int64_t length = self.rank() == 0 ? 1 : self.size(dim);
  if (size < 0 || size > length || step < 1) {
    return context.fail(Error::kInvalidArgument, "unfold_copy: size is larger than the dimension, or step is below 1");
  }
  if (self.rank() == kMaxRank) return context.fail(Error::kInvalidArgument, "unfold_copy: self has 16 dimensions");
  SubBox box;
  for (int d = 0; d < self.rank(); ++d) {
    if (d != dim) {
      box.push(self.size(d), self.stride(d));
      continue;
    }
    const int64_t count = (length - size) / step + 1;
    box.push(count, count > 1 ? self.stride(d) * step : self.stride(d));
  }
  box.push(size, self.rank() == 0 ? 1 : self.stride(dim));
  return copy_from_box(context, self, box, args.out);
}

}  // namespace berth::portable
