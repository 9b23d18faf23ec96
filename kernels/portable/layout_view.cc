// view_copy, squeeze_copy, unsqueeze_copy: the same elements in the same logical order, with other sizes.
#include <cstring>

#include "kernels/portable/copy_strided.h"
#include "kernels/portable/layout_sizes.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

// Cuts the sizes of both tensors into common factors, from the innermost dimension outward, and adds each as a
// dimension of `*copy`: [6, 4] as [2, 12] is the box [2, 3, 4]. False when they have none: [2, 3] as [3, 2].
bool add_common_factors(const Tensor& self, const Tensor& out, StridedCopy* copy) {
  int a = self.rank() - 1;
  int b = out.rank() - 1;
  int64_t a_left = a >= 0 ? self.size(a) : 1;
  int64_t b_left = b >= 0 ? out.size(b) : 1;
  int64_t a_done = 1;
  int64_t b_done = 1;
  while (true) {
    while (a_left == 1 && a > 0) a_left = self.size(--a), a_done = 1;
    while (b_left == 1 && b > 0) b_left = out.size(--b), b_done = 1;
    if (a_left == 1 && b_left == 1) return true;
    const int64_t factor = a_left < b_left ? a_left : b_left;
    if (a_left % factor != 0 || b_left % factor != 0) return false;
    copy->add(factor, self.stride(a) * a_done, out.stride(b) * b_done);
    a_left /= factor;
    b_left /= factor;
    a_done *= factor;
    b_done *= factor;
  }
}

void copy_one_by_one(const Tensor& self, Tensor& out) {
  const size_t bytes = element_size(self.dtype());
  const char* from = self.data<char>();
  char* to = out.data<char>();
  for (int64_t i = 0; i < self.numel(); ++i) {
    std::memcpy(to + element_offset(out, i) * bytes, from + element_offset(self, i) * bytes, bytes);
  }
}

// REQUIRES: as many elements in `sizes` as in `self`.
Error view(KernelContext& context, const Tensor& self, const Sizes& sizes, Tensor& out) {
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes));
  const bool contiguous = self.is_contiguous() && out.is_contiguous();
  if (self.numel() == 0 || (contiguous && self.raw() == out.raw())) return Error::kOk;
  StridedCopy copy(element_size(self.dtype()));
  if (contiguous) {
    copy.add(self.numel(), 1, 1);
  } else if (!add_common_factors(self, out, &copy)) {
    copy_one_by_one(self, out);
    return Error::kOk;
  }
  copy.prepare();
  copy.run(context, self.raw(), out.raw());
  return Error::kOk;
}

Error squeeze(KernelContext& context, const Tensor& self, const Integers& dims, Tensor& out) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(read_squeeze(context, self, dims, &sizes));
  return view(context, self, sizes, out);
}

}  // namespace

Error view_copy_out(KernelContext& context, const arguments::view_copy_out& args) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(read_view(context, args.self, args.size, &sizes));
  return view(context, args.self, sizes, args.out);
}

Error squeeze_copy_dim_out(KernelContext& context, const arguments::squeeze_copy_dim_out& args) {
  Integers dims;
  dims.data[dims.count++] = args.dim;
  return squeeze(context, args.self, dims, args.out);
}

Error squeeze_copy_dims_out(KernelContext& context, const arguments::squeeze_copy_dims_out& args) {
  Integers dims;
  BERTH_RETURN_IF_ERROR(read_integers(context, args.dim, &dims));
  return squeeze(context, args.self, dims, args.out);
}

Error unsqueeze_copy_out(KernelContext& context, const arguments::unsqueeze_copy_out& args) {
  Sizes sizes;
  BERTH_RETURN_IF_ERROR(read_unsqueeze(context, args.self, args.dim, &sizes));
  return view(context, args.self, sizes, args.out);
}

}  // namespace berth::portable
