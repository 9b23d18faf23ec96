// _conj_physical and view_as_real_copy: complex numbers as pairs of real and imaginary part.
#include "kernels/portable/complex_arithmetic.h"
#include "kernels/portable/copy_strided.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/portable.h"

namespace berth::portable {
namespace {

constexpr int64_t kGrain = 16384;

// Flips the sign of every other number of `bytes` bytes each: of the imaginary parts.
void negate_imaginary(char* pairs, size_t bytes, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    // The sign is the highest bit of the last byte, for numbers are little-endian, as in the program file.
    char& byte = pairs[(2 * i + 2) * bytes - 1];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ 0x80u);
  }
}

}  // namespace

// Of numbers that are not complex: a copy.
Error conj_physical_out(KernelContext& context, const arguments::conj_physical_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  BERTH_RETURN_IF_ERROR(prepare_out(context, self, out, sizes_of(self)));
  if (out.numel() == 0) return Error::kOk;
  copy_tensor(context, self, out);
  if (!is_complex(self.dtype())) return Error::kOk;
  const size_t bytes = element_size(self.dtype()) / 2;
  context.parallel_for(out.numel(), kGrain,
                       [&](int64_t begin, int64_t end) { negate_imaginary(out.data<char>(), bytes, begin, end); });
  return Error::kOk;
}

Error view_as_real_copy_out(KernelContext& context, const arguments::view_as_real_copy_out& args) {
  const Tensor& self = args.self;
  Tensor& out = args.out;
  if (!is_complex(self.dtype()) || out.dtype() != part_dtype(self.dtype())) {
    return context.fail(Error::kInvalidArgument, "view_as_real_copy: self must be complex, out of its parts' type");
  }
  Sizes sizes = sizes_of(self);
  if (!push_size(&sizes, 2)) return context.fail(Error::kInvalidArgument, "view_as_real_copy: self has 16 dimensions");
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  BERTH_RETURN_IF_ERROR(check_memory(context, self, out));
  if (out.numel() == 0) return Error::kOk;
  StridedCopy copy(element_size(out.dtype()));
  for (int d = 0; d < self.rank(); ++d) copy.add(self.size(d), 2 * self.stride(d), out.stride(d));
  copy.add(2, 1, out.stride(self.rank()));
  copy.prepare();
  copy.run(context, self.raw(), out.raw());
  return Error::kOk;
}

}  // namespace berth::portable
